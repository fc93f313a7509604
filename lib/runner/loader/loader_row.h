// The parts of a row that only loaders have: epochs, GPU, store, diagnosis.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/machine/gpu.h"
#include "lib/measure/measure_run.h"
#include "lib/records/job.pb.h"
#include "lib/records/loader.pb.h"
#include "lib/records/row.pb.h"
#include "lib/records/worker.pb.h"
#include "lib/worker/message.h"

namespace feedrate {

// Items per second while the workers ran, without their start and end. 0 when
// nothing was delivered.
double RunningThroughput(const EpochReply& epoch);

// Runs an epoch of `count` items, or less of it after `limit_s` seconds.
using RunEpoch =
    std::function<absl::StatusOr<EpochReply>(int64_t count, double limit_s)>;

// Runs a loader of `items` items briefly to see if it is too slow to measure.
// What happens once does not count: the first epoch, which sets up the device,
// builds graphs and calls everything for the first time, is not looked at, and
// a loader that then looks slow gets a longer epoch, without its first batch. A
// loader is slow if one of its workers needs `slow_threshold_s` per item.
absl::StatusOr<Preflight> PreflightOfLoader(const PreflightPolicy& policy,
                                            const LoaderSpec& spec,
                                            int64_t items, const RunEpoch& run);

// Seconds from asking for one item to having it: the median over random items,
// after some that do not count. `run` runs an epoch of a loader of `items`
// items without workers and with batches of one. Fails as `run` does.
absl::StatusOr<double> RandomItemSeconds(
    int64_t items, uint64_t seed,
    const std::function<absl::StatusOr<EpochReply>(const EpochCommand&)>& run);

// Sets what the epochs of one run say: status, timing, samples per batch, and
// `loader`. `processors` is the number of usable ones, `step_s` the training
// step that was played. REQUIRES: at least one epoch.
void SetEpochs(const std::vector<EpochReply>& epochs, const LoaderSpec& spec,
               int processors, double step_s, Row* row);

// Null if the job has no GPU or the driver reports nothing; rows then lack its
// usage.
std::unique_ptr<GpuWatch> WatchGpu(const Job& job);

// Sets how busy the GPU was while the epochs ran.
void SetGpuUsage(const GpuUsage& usage, Row* row);

// Megabytes (1e6 bytes) per second while at least one request was under way.
// Empty when there were none.
std::optional<double> DownloadMbPerS(const std::vector<EpochReply>& epochs);

// The most concurrent requests of the loader of `spec`. 0 means that it reads
// from no store.
int ConnectionsOf(const LoaderSpec& spec);

// Sets `storage` if the epochs have it. `one_connection_mb_per_s` is what one
// connection reached. REQUIRES: SetEpochs was called.
void SetStorage(const std::vector<EpochReply>& epochs, const LoaderSpec& spec,
                std::optional<double> one_connection_mb_per_s, Row* row);

// One line for the user. Empty without `storage`.
std::string StorageText(const Row& row);

// Names of ablations: nothing left out, and everything except the hand-over of
// a batch.
inline constexpr char kFullEpoch[] = "full";
inline constexpr char kCachedBatch[] = "cached_batch";

// Short epochs with the same part left out: items per second, by round. None
// if the loader cannot leave it out.
struct LoaderTrials {
  std::string name;
  std::vector<double> throughputs;
};

// Finds the bottleneck of a loader from epochs with parts left out, one of each
// per round. A part costs what an epoch without it saves; handing batches over
// costs the time of an epoch that does nothing else. The most expensive part is
// reported as the bottleneck, unless all are noise. A part whose cost could not
// be measured is named, and is the bottleneck instead if it was busier; if
// nobody knows how busy it was and it may take more, there is no verdict. If
// the loader reports stages, these tell reading from decoding, and copying from
// collating. A
// training step that keeps the accelerator busy takes precedence over all if
// `loader` has the mark.
LoaderDiagnosis Diagnose(const LoaderSpec& spec,
                         const std::vector<LoaderTrials>& trials,
                         const LoaderStats& loader);

// Whether the part's share of the time cannot be told from 0: the epochs
// without it were slower, or the interval includes 0.
bool IsNoise(const LoaderAblation& ablation);

}  // namespace feedrate
