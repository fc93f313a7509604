#include "lib/loader/nvdec/engine_rate.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/adapters/worker/timing_loop.h"
#include "lib/base/status_macros.h"
#include "lib/loader/nvdec/cuda_stream.h"
#include "lib/media/video/nvdec_reader.h"

namespace feedrate {
namespace {

constexpr size_t kClips = 6;
constexpr int kPasses = 2;

// Seconds that decoding the clip of `file` takes.
absl::StatusOr<double> TimeOf(const SourceFile& file, NvdecReader* reader) {
  RETURN_IF_ERROR(reader->Open(file.path).status());
  const int64_t start = MonotonicNs();
  RETURN_IF_ERROR(reader->Read(file.frames, nullptr));
  return static_cast<double>(MonotonicNs() - start) * 1e-9;
}

// One thread's share of the rate.
absl::StatusOr<double> RateOf(const std::vector<SourceFile>& files) {
  ASSIGN_OR_RETURN(const CudaStream stream, CudaStream::Create());
  ASSIGN_OR_RETURN(const std::unique_ptr<NvdecReader> reader,
                   NvdecReader::Create(stream.get()));
  // The first one makes the session.
  RETURN_IF_ERROR(TimeOf(files[0], reader.get()).status());
  const size_t clips = std::min(files.size(), kClips);
  double best = 0;
  for (int pass = 0; pass < kPasses; ++pass) {
    double seconds = 0;
    for (size_t i = 0; i < clips; ++i) {
      ASSIGN_OR_RETURN(const double one, TimeOf(files[i], reader.get()));
      seconds += one;
    }
    best = std::max(best, static_cast<double>(clips) / std::max(seconds, 1e-9));
  }
  return best;
}

}  // namespace

absl::StatusOr<double> EngineRate(const std::vector<SourceFile>& files,
                                  int threads) {
  if (files.empty()) return absl::InvalidArgumentError("there are no clips");
  std::vector<absl::StatusOr<double>> rates(std::max(1, threads), 0.0);
  std::vector<std::thread> running;
  for (absl::StatusOr<double>& rate : rates) {
    running.emplace_back([&files, &rate] { rate = RateOf(files); });
  }
  for (std::thread& thread : running) thread.join();
  double sum = 0;
  for (const absl::StatusOr<double>& rate : rates) {
    RETURN_IF_ERROR(rate.status());
    sum += *rate;
  }
  return sum;
}

}  // namespace feedrate
