// Messages for jobs that measure loaders and mixtures of data sets: the part of
// message.h that has epochs instead of calls. docs/adapters.md describes the
// protocol.
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
#include "lib/base/unique_fd.h"

namespace feedrate {

class JsonFields;  // lib/worker/json_line.h

// Scopes of a loader job.
inline constexpr char kMemoryScope[] = "memory_dataloader_augment";
inline constexpr char kDecodeScope[] = "decode_dataloader_augment";
inline constexpr char kCopyScope[] = "decode_dataloader_augment_batch_copy";

// A value of `ablation`, see below.
inline constexpr char kDeviceLimits[] = "device_limits";

// The object `loader` in a prepare command: what the batches contain and how
// they are made. A batch is contiguous float32 CHW after crop, transform and
// normalization.
struct LoaderSpec {
  std::string scope;
  // What the spawn request's fourth descriptor is: `corpus`, a corpus as in
  // other jobs; `files` or `shards`, a memory file with a list (source_list.h);
  // `objects`, a list of parts of objects in the store described by `store`.
  std::string source;
  int64_t batch_size = 0;
  int workers = 0;
  // Batches that each worker prepares ahead.
  int prefetch = 0;
  // Whether workers outlive an epoch.
  bool persistent = false;
  bool pin_memory = false;
  // Whether an incomplete last batch is dropped.
  bool drop_last = false;
  bool shuffle = false;
  int channels = 0;
  // Height and width of an item of a batch.
  int crop = 0;
  // Whether the transform is itself the crop.
  bool is_crop = false;
  // `random`, or `center` so that outputs can be compared.
  std::string crop_position;
  // For the first channels; further channels repeat them.
  std::vector<double> mean;
  std::vector<double> std;
  // Pixels are divided by this before normalization.
  double input_scale = 0;
  // Applied to the complete batch: empty for none, `mixup` or `cutmix`.
  std::string batch_transform;
  // What to do with a file that cannot be used: `skip` or `fail`.
  std::string on_error;
  // What is left out, to measure its cost: empty for nothing, `no_augment`,
  // `no_decode` or `cached_batch`. kDeviceLimits leaves out everything: an
  // epoch measures the device's upper limits and reports them.
  std::string ablation;
  // Further settings of the job, for loaders that have their own.
  std::map<std::string, std::string> settings;
  // For `objects`: see lib/storage/object_store.h.
  std::map<std::string, std::string> store;
};

// Returns InvalidArgument, which names the field, if a value makes no sense.
absl::Status CheckLoaderSpec(const LoaderSpec& spec);

// Runs one epoch over items first … first+count-1, modulo their number.
struct EpochCommand {
  uint64_t seed = 0;
  int64_t first = 0;
  int64_t count = 0;
  // No further batch is requested after this many seconds. 0 means no limit.
  double limit_s = 0;
  // Duration of the simulated training step after each batch.
  double consumer_s = 0;
};

// One stage of a loader during an epoch; seconds are summed over its threads.
struct StageTimes {
  std::string name;  // `read`, `decode`, `augment`, `collate` or `copy`.
  double busy_s = 0;
  double wait_in_s = 0;   // Waiting for input.
  double wait_out_s = 0;  // Waiting for room in the output queue.
  // Mean fill level of its output queue, 0 to 1.
  double queue_fill = 0;
};

// Requests and bytes for the items of an epoch that are read from a store.
struct StorageCounts {
  int64_t requests = 0;
  int64_t bytes = 0;
  int64_t retries = 0;
  int64_t checksum_faults = 0;
  double busy_s = 0;  // Time with at least one request under way.
  // All 0 if there is no cache.
  int64_t cache_hits = 0;
  int64_t cache_misses = 0;
  int64_t cache_bad_entries = 0;
  int64_t cache_write_failures = 0;
};

// A GPU's upper limits, with nothing else running.
struct DeviceLimits {
  // Whole files decoded by its engines. 0 if there are none, or they are off.
  double engine_items_per_s = 0;
  // Rate of copies from pinned host memory.
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
  // From before the workers start until after they are gone, including the
  // consumer.
  double elapsed_s = 0;
  // Until the workers run and batches can be requested.
  double startup_s = 0;
  // From the start of the epoch to the first batch.
  double first_batch_s = 0;
  // From the last batch until all workers are gone.
  double teardown_s = 0;
  // For each batch, the time from requesting it to receiving it.
  std::vector<double> samples_s;
  // Time spent in training steps.
  double consumer_s = 0;
  // CPU time of the child and its workers.
  double cpu_s = 0;
  // Empty if unknown.
  std::vector<StageTimes> stages;
  // The first few of `errors_total`.
  std::vector<LoaderError> errors;
  int64_t errors_total = 0;
  // Size of all batches.
  int64_t bytes_out = 0;
  // Present if the loader reads from a store.
  std::optional<StorageCounts> storage;

  // The next four fields are for mixtures; empty for other loaders. Seconds
  // from the start of the epoch until each batch was complete.
  std::vector<double> times_s;
  // For each batch, how many samples are from which data set: index in the list
  // of sources, samples, index, samples, and so on.
  std::vector<std::vector<int64_t>> counts;
  // Data sets without a usable item.
  std::vector<std::string> left_out;
  // Upper bound of the memory it needs, besides code. 0 if it does not say.
  int64_t memory_bound_bytes = 0;
  // On a GPU: peak memory in use, and peak memory reserved. 0 if unknown.
  int64_t gpu_allocated_bytes = 0;
  int64_t gpu_reserved_bytes = 0;
  // Frames of clips that the CPU decoded instead of an engine.
  int64_t cpu_frames = 0;
  // Present with the ablation kDeviceLimits.
  std::optional<DeviceLimits> device_limits;
};

// At most this many errors are listed.
inline constexpr int kMaxNamedErrors = 20;

std::string EpochLine(const EpochCommand& command);
std::string EpochReplyLine(const EpochReply& reply);
absl::StatusOr<EpochReply> ParseEpochReply(absl::string_view line);

// Mixtures of data sets: the prepare command has one more object, epochs count
// the samples of each batch by data set, and there is a separate stop command.
// docs/mixture.md describes the protocol.

// The object `mixture` in a prepare command. The fields are those of
// MixtureConfig (lib/config/run_config.proto), all of them set.
struct MixtureSpec {
  int64_t batch_size = 64;
  int read_interleave = 2;
  int decode_parallelism = 0;
  int pipeline_interleave = 2;
  int mix_block_length = 4;
  int shuffle_buffer = 16;
  int queue_depth = 4;
  int samples_per_episode = 5;
  int pair_offset = 1;
  // `none`, `dataset_only` or `full`.
  std::string metadata = "none";
  int prime_each_dataset_samples = 0;
  // Size of a frame in a batch. Equal today; two fields, so that non-square
  // frames need no new message.
  int frame_height = 224;
  int frame_width = 224;
  // What to do with an item that cannot be used: `fail`, or `skip`, which
  // counts it.
  std::string on_error = "fail";
};

// InvalidArgument names a field that cannot be meant.
absl::Status CheckMixtureSpec(const MixtureSpec& spec);

// One data set of a mixture.
struct MixtureSource {
  std::string name;
  // Relative to the other data sets, above 0.
  double weight = 1;
  // Paths of its TFRecord files.
  std::vector<std::string> shards;
};

// Writes a sealed memory file with one line per data set: the spawn request's
// fourth descriptor.
absl::StatusOr<UniqueFd> WriteMixtureSources(
    const std::vector<MixtureSource>& sources);
// Reads the whole list, whatever the current offset of `fd`. InvalidArgument if
// a line is malformed (it is named) or the list is empty.
absl::StatusOr<std::vector<MixtureSource>> ReadMixtureSources(int fd);

// The answer to `stop`.
struct StopReply {
  // Time until all threads and files of the last epoch were gone.
  double teardown_s = 0;
};
std::string StopLine();
std::string StopReplyLine(const StopReply& reply);
absl::StatusOr<StopReply> ParseStopReply(absl::string_view line);

// Internal: parts of lines, for message.cc. The first two return JSON objects
// without a newline.
std::string LoaderSpecJson(const LoaderSpec& spec);
std::string MixtureSpecJson(const MixtureSpec& spec);
absl::Status ReadLoaderSpec(const JsonFields& json, LoaderSpec* spec);
absl::Status ReadMixtureSpec(const JsonFields& json, MixtureSpec* spec);
absl::Status ReadEpoch(const JsonFields& json, EpochCommand* command);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_WORKER_LOADER_MESSAGE_H_
