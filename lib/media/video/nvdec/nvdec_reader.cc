#include "lib/media/video/nvdec/nvdec_reader.h"

#include <cuda_runtime_api.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"
#include "lib/media/video/clip_walk.h"
#include "lib/media/video/demux.h"
#include "lib/media/video/frame_rgb.h"
#include "lib/media/video/nvdec/nv12_rgb.h"
#include "lib/media/video/nvdec/nvdec.h"

namespace feedrate {
namespace {

struct PinnedDeleter {
  void operator()(uint8_t* data) const { cudaFreeHost(data); }
};

absl::Status CheckCuda(cudaError_t error, absl::string_view call) {
  if (error == cudaSuccess) return absl::OkStatus();
  const std::string text =
      absl::StrCat("CUDA: ", call, ": ", cudaGetErrorString(error));
  return error == cudaErrorMemoryAllocation ? absl::ResourceExhaustedError(text)
                                            : absl::InternalError(text);
}

// NVDEC's library uses the context of its thread and, unlike the runtime, does
// not create one. Readers may move between threads.
absl::Status BindContext(int device) {
  RETURN_IF_ERROR(CheckCuda(cudaSetDevice(device), "cudaSetDevice"));
  return CheckCuda(cudaFree(nullptr), "cudaFree");
}

absl::Status CheckDevice() {
  int devices = 0;
  const cudaError_t found = cudaGetDeviceCount(&devices);
  if (found == cudaSuccess && devices > 0) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("NVDEC: no CUDA device is here: ",
                                             cudaGetErrorString(found)));
}

class CuvidReader : public NvdecReader {
 public:
  CuvidReader(const Nvcuvid& library, int device, cudaStream_t stream)
      : device_(device),
        stream_(stream),
        session_(std::make_unique<NvdecSession>(library, stream)) {}
  ~CuvidReader() override {
    BindContext(device_).IgnoreError();
    session_ = nullptr;
  }

  absl::StatusOr<VideoInfo> Open(const VideoPlace& place) override {
    RETURN_IF_ERROR(BindContext(device_));
    walk_ = nullptr;
    cpu_ = nullptr;
    ASSIGN_OR_RETURN(walk_,
                     ClipWalk::Open(place, [this](const auto& parameters) {
                       return FindDecoder(parameters);
                     }));
    return walk_->info();
  }

  absl::StatusOr<std::vector<double>> Times() override {
    if (walk_ == nullptr) return NoFile();
    return walk_->Times();
  }

  absl::Status Read(const std::vector<int64_t>& frames, uint8_t* rgb) override {
    if (walk_ == nullptr) return NoFile();
    RETURN_IF_ERROR(BindContext(device_));
    absl::Status read = ReadOnce(frames, rgb);
    if (absl::IsUnimplemented(read) && cpu_ == nullptr) {
      read = UseCpu();
      if (read.ok()) read = ReadOnce(frames, rgb);
    }
    // Its decoder is unusable now.
    if (!read.ok()) walk_ = nullptr;
    return read;
  }

  int64_t engine_frames() const override { return engine_frames_; }
  int64_t cpu_frames() const override { return cpu_frames_; }
  const NvdecCounts& counts() const override { return session_->counts(); }

 private:
  static absl::Status NoFile() {
    return absl::FailedPreconditionError("no file is open");
  }
  absl::StatusOr<FrameDecoder*> FindDecoder(
      const AVCodecParameters& parameters);
  absl::Status UseCpu();
  absl::Status ReadOnce(const std::vector<int64_t>& frames, uint8_t* rgb);
  absl::Status Put(const DecodedFrame& frame, size_t first, size_t count,
                   uint8_t* rgb);
  // What the CPU decoded.
  absl::Status Upload(const AVFrame& frame, uint8_t* out);
  absl::Status ReservePinned(int64_t bytes);

  const int device_;
  const cudaStream_t stream_;
  std::unique_ptr<NvdecSession> session_;
  // For a file that the engine cannot decode.
  std::unique_ptr<AvDecoder> cpu_;
  std::unique_ptr<ClipWalk> walk_;
  FrameRgb converter_;
  std::unique_ptr<uint8_t, PinnedDeleter> pinned_;
  int64_t pinned_bytes_ = 0;
  int64_t engine_frames_ = 0;
  int64_t cpu_frames_ = 0;
};

absl::StatusOr<FrameDecoder*> CuvidReader::FindDecoder(
    const AVCodecParameters& parameters) {
  const absl::Status begun = session_->Begin(parameters);
  if (begun.ok()) return session_.get();
  if (!absl::IsUnimplemented(begun)) return begun;
  ASSIGN_OR_RETURN(cpu_, AvDecoder::Open(parameters, /*threads=*/1));
  return cpu_.get();
}

absl::Status CuvidReader::UseCpu() {
  ASSIGN_OR_RETURN(cpu_, AvDecoder::Open(walk_->parameters(), /*threads=*/1));
  walk_->UseDecoder(cpu_.get());
  return absl::OkStatus();
}

absl::Status CuvidReader::ReadOnce(const std::vector<int64_t>& frames,
                                   uint8_t* rgb) {
  const auto put = [this, rgb](const DecodedFrame& frame, size_t first,
                               size_t count) {
    return Put(frame, first, count, rgb);
  };
  RETURN_IF_ERROR(walk_->Read(frames, put));
  (cpu_ == nullptr ? engine_frames_ : cpu_frames_) +=
      static_cast<int64_t>(frames.size());
  return absl::OkStatus();
}

absl::Status CuvidReader::Put(const DecodedFrame& frame, size_t first,
                              size_t count, uint8_t* rgb) {
  if (rgb == nullptr) return absl::OkStatus();
  const int64_t bytes = FrameBytesOf(walk_->info());
  uint8_t* const out = rgb + static_cast<int64_t>(first) * bytes;
  RETURN_IF_ERROR(
      frame.on_host != nullptr
          ? Upload(*frame.on_host, out)
          : CheckCuda(Nv12ToRgb(*frame.on_device, out, stream_), "Nv12ToRgb"));
  for (size_t i = 1; i < count; ++i) {
    RETURN_IF_ERROR(
        CheckCuda(cudaMemcpyAsync(out + static_cast<int64_t>(i) * bytes, out,
                                  bytes, cudaMemcpyDeviceToDevice, stream_),
                  "cudaMemcpyAsync"));
  }
  // The engine reuses its frame when this returns.
  return CheckCuda(cudaStreamSynchronize(stream_), "converting a frame");
}

absl::Status CuvidReader::Upload(const AVFrame& frame, uint8_t* out) {
  const int64_t bytes = FrameBytesOf(walk_->info());
  RETURN_IF_ERROR(ReservePinned(bytes));
  RETURN_IF_ERROR(converter_.Convert(frame, pinned_.get()));
  return CheckCuda(cudaMemcpyAsync(out, pinned_.get(), bytes,
                                   cudaMemcpyHostToDevice, stream_),
                   "cudaMemcpyAsync");
}

absl::Status CuvidReader::ReservePinned(int64_t bytes) {
  if (bytes <= pinned_bytes_) return absl::OkStatus();
  pinned_ = nullptr;
  pinned_bytes_ = 0;
  void* data = nullptr;
  RETURN_IF_ERROR(CheckCuda(
      cudaHostAlloc(&data, static_cast<size_t>(bytes), cudaHostAllocDefault),
      "cudaHostAlloc"));
  pinned_.reset(static_cast<uint8_t*>(data));
  pinned_bytes_ = bytes;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<NvdecReader>> NvdecReader::Create(
    cudaStream_t stream) {
  SilenceAv();
  RETURN_IF_ERROR(CheckDevice());
  ASSIGN_OR_RETURN(const Nvcuvid* const library, LoadNvcuvid());
  int device = 0;
  RETURN_IF_ERROR(CheckCuda(cudaGetDevice(&device), "cudaGetDevice"));
  RETURN_IF_ERROR(BindContext(device));
  return std::make_unique<CuvidReader>(*library, device, stream);
}

}  // namespace feedrate
