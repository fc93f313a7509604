// Messages for jobs that measure loaders and mixtures of data sets: the part of
// message.h that has epochs instead of calls. docs/adapters.md describes the
// protocol.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/base/unique_fd.h"
#include "lib/loader/mixture/mixture_spec.h"

namespace feedrate {

// lib/records/worker.pb.h.
class EpochReply;
class StopReply;

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
  // other jobs; `files`, `shards`, `tfrecord`, `parquet` or `lmdb`, a memory
  // file with a list (source_list.h) of images and arrays or of containers with
  // images; `objects`, a list of parts of objects in the store described by
  // `store`.
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
  // Which of how many processes that share each epoch.
  int rank = 0;
  int ranks = 1;
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

  // For audits. Whether the reply has the ids that items show, and the loader's
  // state.
  bool ids = false;
  // Number of the epoch: with `shuffle`, each has its own order.
  int64_t epoch = 0;
  // The epoch ends after this many batches. 0 means after the last.
  int64_t batches = 0;
  // State of an interrupted epoch, which this one continues. Empty means none.
  std::string state;
};

// At most this many errors are listed, in replies and in rows.
inline constexpr int kMaxNamedErrors = 1000;

std::string EpochLine(const EpochCommand& command);
absl::StatusOr<EpochReply> ParseEpochReply(absl::string_view line);

// Mixtures of data sets: the prepare command has one more object, epochs count
// the samples of each batch by data set, and there is a separate stop command.
// docs/mixture.md describes the protocol.

// Writes a sealed memory file with one line per data set: the spawn request's
// fourth descriptor.
absl::StatusOr<UniqueFd> WriteMixtureSources(
    const std::vector<MixtureSource>& sources);
// Reads the whole list, whatever the current offset of `fd`. InvalidArgument if
// a line is malformed (it is named) or the list is empty.
absl::StatusOr<std::vector<MixtureSource>> ReadMixtureSources(int fd);

std::string StopLine();
absl::StatusOr<StopReply> ParseStopReply(absl::string_view line);

}  // namespace feedrate
