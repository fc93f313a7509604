#include "lib/media/video/nvdec_reader.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"
#include "lib/media/video/av.h"
#include "lib/media/video/clip_walk.h"
#include "lib/media/video/frame_rgb.h"
#include "lib/media/video/nv12_rgb.h"
#include "lib/media/video/packet_list.h"

extern "C" {
#include <libavutil/buffer.h>
#include <libavutil/hwcontext.h>
#include <libavutil/hwcontext_cuda.h>
}

namespace feedrate {
namespace {

struct BufferDeleter {
  void operator()(AVBufferRef* buffer) const { av_buffer_unref(&buffer); }
};
using BufferPtr = std::unique_ptr<AVBufferRef, BufferDeleter>;

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

// FFmpeg loads it when it first decodes, and would go on without it in silence.
absl::Status CheckEngine() {
  void* const handle = dlopen("libnvcuvid.so.1", RTLD_NOW | RTLD_LOCAL);
  if (handle != nullptr) {
    dlclose(handle);
    return absl::OkStatus();
  }
  return absl::UnavailableError(
      "NVDEC: libnvcuvid.so.1 is not here; the driver's video part is not "
      "installed (in a container: NVIDIA_DRIVER_CAPABILITIES has no `video`)");
}

// The context that the runtime works in, so that its kernels and FFmpeg see the
// same memory. The driver's library is loaded as the runtime does it: what is
// built here has to start on machines without one.
absl::StatusOr<CUcontext> RuntimeContext() {
  int devices = 0;
  const cudaError_t found = cudaGetDeviceCount(&devices);
  if (found != cudaSuccess || devices == 0) {
    return absl::UnavailableError(absl::StrCat(
        "NVDEC: no CUDA device is here: ", cudaGetErrorString(found)));
  }
  RETURN_IF_ERROR(CheckCuda(cudaSetDevice(0), "cudaSetDevice"));
  RETURN_IF_ERROR(CheckCuda(cudaFree(nullptr), "cudaFree"));
  using GetCurrent = CUresult (*)(CUcontext*);
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  const auto get_current =
      driver == nullptr
          ? nullptr
          : reinterpret_cast<GetCurrent>(dlsym(driver, "cuCtxGetCurrent"));
  CUcontext context = nullptr;
  if (get_current == nullptr || get_current(&context) != CUDA_SUCCESS ||
      context == nullptr) {
    return absl::UnavailableError(
        "NVDEC: libcuda.so.1 has no context of the CUDA runtime");
  }
  return context;
}

absl::StatusOr<BufferPtr> MakeDevice(cudaStream_t stream) {
  ASSIGN_OR_RETURN(const CUcontext context, RuntimeContext());
  RETURN_IF_ERROR(CheckEngine());
  BufferPtr device(av_hwdevice_ctx_alloc(AV_HWDEVICE_TYPE_CUDA));
  if (device == nullptr) {
    return absl::UnavailableError(
        "NVDEC: this FFmpeg was built without CUDA; Debian's for x86-64 has "
        "it");
  }
  auto* const base = reinterpret_cast<AVHWDeviceContext*>(device->data);
  auto* const cuda = static_cast<AVCUDADeviceContext*>(base->hwctx);
  cuda->cuda_ctx = context;
  cuda->stream = stream;
  const int made = av_hwdevice_ctx_init(device.get());
  if (made >= 0) return device;
  return absl::UnavailableError(
      absl::StrCat("NVDEC: FFmpeg cannot use the device: ", AvErrorText(made)));
}

// The engine where it is offered; FFmpeg asks again without it when it turns
// out not to decode this video.
AVPixelFormat ChooseFormat(AVCodecContext* decoder,
                           const AVPixelFormat* formats) {
  for (const AVPixelFormat* format = formats; *format != AV_PIX_FMT_NONE;
       ++format) {
    if (*format == AV_PIX_FMT_CUDA) return *format;
  }
  return avcodec_default_get_format(decoder, formats);
}

// What a decoder was opened for; with the same it decodes another file.
bool SameStream(const AVCodecParameters& a, const AVCodecParameters& b) {
  return a.codec_id == b.codec_id && a.codec_tag == b.codec_tag &&
         a.width == b.width && a.height == b.height && a.format == b.format &&
         a.profile == b.profile && a.extradata_size == b.extradata_size &&
         std::equal(a.extradata, a.extradata + a.extradata_size, b.extradata);
}

struct ParametersDeleter {
  void operator()(AVCodecParameters* parameters) const {
    avcodec_parameters_free(&parameters);
  }
};

class AvNvdecReader : public NvdecReader {
 public:
  AvNvdecReader(cudaStream_t stream, BufferPtr device)
      : stream_(stream), device_(std::move(device)) {}

  absl::StatusOr<VideoInfo> Open(const std::string& path) override {
    walk_ = nullptr;
    ASSIGN_OR_RETURN(walk_,
                     ClipWalk::Open({path, {}}, [this](const auto& parameters) {
                       return FindDecoder(parameters);
                     }));
    return walk_->info();
  }

  absl::Status Read(const std::vector<int64_t>& frames, uint8_t* rgb) override {
    if (walk_ == nullptr) {
      return absl::FailedPreconditionError("no file is open");
    }
    const auto take = [this, rgb](const AVFrame& frame, size_t first,
                                  size_t count) {
      return Put(frame, first, count, rgb);
    };
    const absl::Status read = walk_->Read(frames, take);
    // What is left in it of a damaged file would come out with the next one.
    if (!read.ok()) {
      walk_ = nullptr;
      decoder_ = nullptr;
    }
    return read;
  }

  int64_t engine_frames() const override { return engine_frames_; }
  int64_t cpu_frames() const override { return cpu_frames_; }

 private:
  absl::StatusOr<AVCodecContext*> FindDecoder(
      const AVCodecParameters& parameters);
  absl::Status Put(const AVFrame& frame, size_t first, size_t count,
                   uint8_t* rgb);
  absl::Status Convert(const AVFrame& frame, uint8_t* out);
  // Through the host: what the CPU decoded, or the engine in another format.
  absl::Status Upload(const AVFrame& frame, uint8_t* out);
  absl::Status ReservePinned(int64_t bytes);

  const cudaStream_t stream_;
  const BufferPtr device_;
  AvPtr<AVCodecContext> decoder_;
  std::unique_ptr<AVCodecParameters, ParametersDeleter> opened_for_;
  std::unique_ptr<ClipWalk> walk_;
  FrameRgb converter_;
  AvPtr<AVFrame> downloaded_;
  std::unique_ptr<uint8_t, PinnedDeleter> pinned_;
  int64_t pinned_bytes_ = 0;
  int64_t engine_frames_ = 0;
  int64_t cpu_frames_ = 0;
};

absl::StatusOr<AVCodecContext*> AvNvdecReader::FindDecoder(
    const AVCodecParameters& parameters) {
  if (decoder_ != nullptr && SameStream(*opened_for_, parameters)) {
    return decoder_.get();
  }
  decoder_ = nullptr;
  const auto configure = [this](AVCodecContext* decoder) {
    decoder->hw_device_ctx = av_buffer_ref(device_.get());
    decoder->get_format = ChooseFormat;
    // One that is looked at here, and one that waits for it.
    decoder->extra_hw_frames = 2;
  };
  ASSIGN_OR_RETURN(decoder_, OpenDecoder(parameters, configure));
  opened_for_.reset(avcodec_parameters_alloc());
  const int copied = avcodec_parameters_copy(opened_for_.get(), &parameters);
  if (copied >= 0) return decoder_.get();
  decoder_ = nullptr;
  return absl::ResourceExhaustedError(AvErrorText(copied));
}

absl::Status AvNvdecReader::Put(const AVFrame& frame, size_t first,
                                size_t count, uint8_t* rgb) {
  const bool on_engine = frame.format == AV_PIX_FMT_CUDA;
  (on_engine ? engine_frames_ : cpu_frames_) += static_cast<int64_t>(count);
  if (rgb == nullptr) return absl::OkStatus();
  const int64_t bytes = FrameBytesOf(walk_->info());
  uint8_t* const out = rgb + static_cast<int64_t>(first) * bytes;
  RETURN_IF_ERROR(on_engine ? Convert(frame, out) : Upload(frame, out));
  for (size_t i = 1; i < count; ++i) {
    RETURN_IF_ERROR(
        CheckCuda(cudaMemcpyAsync(out + static_cast<int64_t>(i) * bytes, out,
                                  bytes, cudaMemcpyDeviceToDevice, stream_),
                  "cudaMemcpyAsync"));
  }
  // The engine takes its frame back when this returns.
  return CheckCuda(cudaStreamSynchronize(stream_), "converting a frame");
}

absl::Status AvNvdecReader::Convert(const AVFrame& frame, uint8_t* out) {
  const auto* const frames =
      reinterpret_cast<const AVHWFramesContext*>(frame.hw_frames_ctx->data);
  const bool is_even = frame.crop_left % 2 == 0 && frame.crop_top % 2 == 0;
  if (frames->sw_format != AV_PIX_FMT_NV12 || !is_even) {
    if (downloaded_ == nullptr) downloaded_.reset(av_frame_alloc());
    av_frame_unref(downloaded_.get());
    int result = av_hwframe_transfer_data(downloaded_.get(), &frame, 0);
    if (result >= 0) result = av_frame_copy_props(downloaded_.get(), &frame);
    if (result < 0) {
      return absl::InternalError(absl::StrCat(
          "NVDEC: a frame cannot be copied: ", AvErrorText(result)));
    }
    return Upload(*downloaded_, out);
  }
  // Rows and columns before the picture stay in frames of a device.
  const auto top = static_cast<int64_t>(frame.crop_top);
  const auto left = static_cast<int64_t>(frame.crop_left);
  Nv12Frame nv12;
  nv12.luma_stride = frame.linesize[0];
  nv12.chroma_stride = frame.linesize[1];
  nv12.luma = frame.data[0] + top * nv12.luma_stride + left;
  nv12.chroma = frame.data[1] + top / 2 * nv12.chroma_stride + left;
  nv12.width = frame.width;
  nv12.height = frame.height;
  nv12.weights = WeightsOf(frame);
  return CheckCuda(Nv12ToRgb(nv12, out, stream_), "Nv12ToRgb");
}

absl::Status AvNvdecReader::Upload(const AVFrame& frame, uint8_t* out) {
  const int64_t bytes = FrameBytesOf(walk_->info());
  RETURN_IF_ERROR(ReservePinned(bytes));
  RETURN_IF_ERROR(converter_.Convert(frame, pinned_.get()));
  return CheckCuda(cudaMemcpyAsync(out, pinned_.get(), bytes,
                                   cudaMemcpyHostToDevice, stream_),
                   "cudaMemcpyAsync");
}

absl::Status AvNvdecReader::ReservePinned(int64_t bytes) {
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
  ASSIGN_OR_RETURN(BufferPtr device, MakeDevice(stream));
  return std::make_unique<AvNvdecReader>(stream, std::move(device));
}

}  // namespace feedrate
