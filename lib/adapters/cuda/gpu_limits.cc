#include "lib/adapters/cuda/gpu_limits.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/stopwatch.h"
#include "lib/loader/cuda/chunk_maker.h"
#include "lib/loader/cuda/cuda_copy.h"
#include "lib/ops/cuda/cuda_device.h"
#include "lib/ops/cuda/kernels/batch.h"

namespace feedrate {
namespace {

constexpr int kRounds = 3;
constexpr size_t kMostFiles = 256;
// Files per engine call, as in the loader.
constexpr size_t kChunk = 64;
constexpr int64_t kAlign = 256;

struct Encoded {
  std::string bytes;
  JpegHead head;
};

std::vector<Encoded> LoadFiles(const std::vector<SourceFile>& files) {
  std::vector<Encoded> loaded;
  const size_t count = std::min(files.size(), kMostFiles);
  for (size_t i = 0; i < count; ++i) {
    absl::StatusOr<std::string> bytes =
        ReadFile(files[i * files.size() / count].path);
    if (!bytes.ok()) continue;
    const std::optional<JpegHead> head = ReadJpegHead(*bytes);
    if (!head.has_value() || !EngineDecodes(*head)) continue;
    loaded.push_back({*std::move(bytes), *head});
  }
  return loaded;
}

// Decoder of one thread, which decodes the same files repeatedly to the same
// memory.
class Decoding {
 public:
  static absl::StatusOr<std::unique_ptr<Decoding>> Create(
      const NvJpeg& library, NvjpegBackend backend,
      const std::vector<Encoded>& files, size_t first) {
    std::unique_ptr<Decoding> made = absl::WrapUnique(new Decoding());
    ASSIGN_OR_RETURN(made->decoder_, NvJpegDecoder::Create(library, backend));
    RETURN_IF_ERROR(CudaStatus(
        cudaStreamCreateWithFlags(&made->stream_, cudaStreamNonBlocking),
        "cudaStreamCreateWithFlags"));
    std::vector<int64_t> offsets;
    int64_t bytes = 0;
    const size_t count = std::min(files.size(), kChunk);
    for (size_t i = 0; i < count; ++i) {
      const Encoded& file = files[(first + i) % files.size()];
      made->files_.push_back(file.bytes);
      made->images_.push_back({nullptr, file.head.height, file.head.width,
                               int64_t{3} * file.head.width});
      offsets.push_back(bytes);
      bytes += (int64_t{3} * file.head.height * file.head.width + kAlign - 1) /
               kAlign * kAlign;
    }
    RETURN_IF_ERROR(made->pixels_.ReserveExactly(bytes + kAlign));
    for (size_t i = 0; i < count; ++i) {
      made->images_[i].data = made->pixels_.data() + offsets[i];
    }
    return made;
  }
  ~Decoding() {
    if (stream_ == nullptr) return;
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }

  // Decodes all files once and waits.
  absl::Status Run() {
    ASSIGN_OR_RETURN(const std::vector<int> refused,
                     decoder_->Decode(files_, images_, stream_));
    if (!refused.empty()) {
      return absl::DataLossError("an engine does not decode all files");
    }
    return CudaStatus(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  }
  int64_t count() const { return static_cast<int64_t>(files_.size()); }

 private:
  Decoding() = default;

  std::unique_ptr<NvJpegDecoder> decoder_;
  cudaStream_t stream_ = nullptr;
  DeviceBlock pixels_;
  std::vector<absl::string_view> files_;
  std::vector<fused::ByteImage> images_;
};

// Files per second of all threads together.
absl::StatusOr<double> Round(
    const std::vector<std::unique_ptr<Decoding>>& decodings, double seconds) {
  const int64_t begin = MonotonicNs();
  const int64_t end = begin + static_cast<int64_t>(seconds * 1e9);
  std::atomic<int64_t> done{0};
  std::vector<absl::Status> statuses(decodings.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < decodings.size(); ++i) {
    threads.emplace_back([&, i] {
      do {
        statuses[i] = decodings[i]->Run();
        if (!statuses[i].ok()) return;
        done += decodings[i]->count();
      } while (MonotonicNs() < end);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const absl::Status& status : statuses) RETURN_IF_ERROR(status);
  return static_cast<double>(done) /
         (static_cast<double>(MonotonicNs() - begin) * 1e-9);
}

absl::Status AddDecodings(const NvJpeg& library, NvjpegBackend backend,
                          int threads, const std::vector<Encoded>& files,
                          std::vector<std::unique_ptr<Decoding>>* to) {
  for (int i = 0; i < threads; ++i) {
    absl::StatusOr<std::unique_ptr<Decoding>> made =
        Decoding::Create(library, backend, files, to->size() * kChunk);
    // Engines that the device does not have decode nothing.
    if (absl::IsUnavailable(made.status())) return absl::OkStatus();
    RETURN_IF_ERROR(made.status());
    to->push_back(*std::move(made));
  }
  return absl::OkStatus();
}

absl::StatusOr<double> EngineRate(const GpuLoaderOptions& options,
                                  const std::vector<SourceFile>& files,
                                  double seconds) {
  if (options.hardware_threads + options.gpu_threads == 0) return 0;
  const std::vector<Encoded> encoded = LoadFiles(files);
  if (encoded.empty()) return 0;
  ASSIGN_OR_RETURN(const std::unique_ptr<NvJpeg> library, NvJpeg::Load());
  std::vector<std::unique_ptr<Decoding>> decodings;
  RETURN_IF_ERROR(AddDecodings(*library, kNvjpegHardware,
                               options.hardware_threads, encoded, &decodings));
  RETURN_IF_ERROR(AddDecodings(*library, kNvjpegGpuHybrid, options.gpu_threads,
                               encoded, &decodings));
  if (decodings.empty()) return 0;
  // The first run allocates their memory.
  for (const auto& decoding : decodings) RETURN_IF_ERROR(decoding->Run());
  double best = 0;
  for (int i = 0; i < kRounds; ++i) {
    ASSIGN_OR_RETURN(const double rate, Round(decodings, seconds / kRounds));
    best = std::max(best, rate);
  }
  return best;
}

}  // namespace

absl::StatusOr<DeviceLimits> MeasureGpuLimits(
    const GpuLoaderOptions& options, const std::vector<SourceFile>& files,
    double seconds) {
  DeviceLimits limits;
  ASSIGN_OR_RETURN(const double copies, CopyBytesPerSecond());
  ASSIGN_OR_RETURN(const double engines, EngineRate(options, files, seconds));
  limits.set_copy_bytes_per_s(copies);
  limits.set_engine_items_per_s(engines);
  return limits;
}

}  // namespace feedrate
