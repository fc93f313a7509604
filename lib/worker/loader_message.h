// What is said about a loader: the part of message.h that has epochs instead of
// calls. docs/adapters.md describes the conversation.
#ifndef FEEDRATE_LIB_WORKER_LOADER_MESSAGE_H_
#define FEEDRATE_LIB_WORKER_LOADER_MESSAGE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace feedrate {

// Scopes of a loader job.
inline constexpr char kMemoryScope[] = "memory_dataloader_augment";
inline constexpr char kDecodeScope[] = "decode_dataloader_augment";
inline constexpr char kCopyScope[] = "decode_dataloader_augment_batch_copy";

// See `ablation`.
inline constexpr char kDeviceLimits[] = "device_limits";

// The object `loader` of a prepare: what the batches are, and how they come
// about. A batch is float32 CHW, contiguous: crop, transform, normalisation.
struct LoaderSpec {
  std::string scope;
  // What the spawn's fourth descriptor is: `corpus`, a corpus as ever; `files`
  // or `shards`, a memory file with a list (source_list.h); `objects`, such a
  // list of parts of objects in the store that `store` tells how to reach.
  std::string source;
  int64_t batch_size = 0;
  int workers = 0;
  // Batches that each worker works ahead.
  int prefetch = 0;
  // Workers outlive an epoch.
  bool persistent = false;
  bool pin_memory = false;
  // A last batch that is not full is left out.
  bool drop_last = false;
  bool shuffle = false;
  int channels = 0;
  // Height and width of an item of a batch.
  int crop = 0;
  // The transform is itself the crop.
  bool is_crop = false;
  // `random`, or `center` so that outputs can be compared.
  std::string crop_position;
  // For the first channels; the rest repeats them.
  std::vector<double> mean;
  std::vector<double> std;
  // What pixels are divided by before that.
  double input_scale = 0;
  // After the batch is made: nothing, `mixup` or `cutmix`.
  std::string batch_transform;
  // A file that cannot be used: `skip` or `fail`.
  std::string on_error;
  // What is left out, to learn what it costs: nothing, `no_augment`,
  // `no_decode` or `cached_batch`. With kDeviceLimits everything is: an epoch
  // measures what the device could do at best, and says so.
  std::string ablation;
  // What else the job says, for loaders that know more than others.
  std::map<std::string, std::string> settings;
  // Of `objects`: lib/storage/store_spec.h.
  std::map<std::string, std::string> store;
};

// InvalidArgument names a field that cannot be meant.
absl::Status CheckLoaderSpec(const LoaderSpec& spec);

// Runs one epoch over items first … first+count-1, modulo their number.
struct EpochCommand {
  uint64_t seed = 0;
  int64_t first = 0;
  int64_t count = 0;
  // No further batch is asked for after this many seconds. 0: no limit.
  double limit_s = 0;
  // How long the training step that is played after each batch takes.
  double consumer_s = 0;
};

// One stage of a loader over an epoch; seconds are summed over its threads.
struct StageTimes {
  std::string name;  // `read`, `decode`, `augment`, `collate` or `copy`.
  double busy_s = 0;
  double wait_in_s = 0;   // For something to do.
  double wait_out_s = 0;  // For room to put it.
  // Mean share of the queue behind it that was in use.
  double queue_fill = 0;
};

// What was moved to read the items of an epoch from a store.
struct StorageCounts {
  int64_t requests = 0;
  int64_t bytes = 0;
  int64_t retries = 0;
  int64_t checksum_faults = 0;
  double busy_s = 0;  // At least one request was under way.
  // All 0 without a cache.
  int64_t cache_hits = 0;
  int64_t cache_misses = 0;
  int64_t cache_bad_entries = 0;
  int64_t cache_write_failures = 0;
};

// What a GPU could do at best, with nothing else under way.
struct DeviceLimits {
  // Whole files that its engines decode. 0: there are none, or they are off.
  double engine_items_per_s = 0;
  // Of a copy from pinned memory of the host.
  double copy_bytes_per_s = 0;
};

struct LoaderError {
  int64_t item = 0;
  std::string path;
  std::string reason;
};

struct EpochReply {
  int64_t items = 0;
  int64_t batches = 0;
  // From before the workers start to after they are gone, consumer included.
  double elapsed_s = 0;
  // Until the workers run and batches can be asked for.
  double startup_s = 0;
  // From the start of the epoch to the first batch.
  double first_batch_s = 0;
  // From the last batch until all workers are gone.
  double teardown_s = 0;
  // For each batch: from asking for it to having it.
  std::vector<double> samples_s;
  // Spent in training steps.
  double consumer_s = 0;
  // Processor time of the child and its workers.
  double cpu_s = 0;
  // Empty: not known.
  std::vector<StageTimes> stages;
  // The first few of `errors_total`.
  std::vector<LoaderError> errors;
  int64_t errors_total = 0;
  // Of all batches.
  int64_t bytes_out = 0;
  // Of a loader that reads from a store.
  std::optional<StorageCounts> storage;

  // Of a mixture; empty for other loaders. Seconds from the start of the epoch
  // until each batch was there.
  std::vector<double> times_s;
  // What each batch has of which data set: number in the list of sources,
  // samples, number, samples, and so on.
  std::vector<std::vector<int64_t>> counts;
  // Data sets that had nothing that could be used.
  std::vector<std::string> left_out;
  // Bytes that it needs at most, beside code. 0: it does not tell.
  int64_t memory_bound_bytes = 0;
  // On a GPU: most memory in use, and most that was taken from it. 0: not
  // known.
  int64_t gpu_allocated_bytes = 0;
  int64_t gpu_reserved_bytes = 0;
  // Frames of clips that the CPU decoded in place of an engine.
  int64_t cpu_frames = 0;
  // Of the ablation kDeviceLimits.
  std::optional<DeviceLimits> device_limits;
};

// So many errors are named.
inline constexpr int kMaxNamedErrors = 20;

std::string EpochLine(const EpochCommand& command);
std::string EpochReplyLine(const EpochReply& reply);
absl::StatusOr<EpochReply> ParseEpochReply(absl::string_view line);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_WORKER_LOADER_MESSAGE_H_
