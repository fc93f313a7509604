// What is said about a mixture of data sets: a prepare with one more object,
// epochs whose batches are counted by data set, and a teardown of its own.
// docs/mixture.md describes the conversation.
#ifndef FEEDRATE_LIB_WORKER_MIXTURE_MESSAGE_H_
#define FEEDRATE_LIB_WORKER_MIXTURE_MESSAGE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/base/unique_fd.h"

namespace feedrate {

// The object `mixture` of a prepare. Fields are those of MixtureConfig
// (lib/config/run_config.proto), none left to a default.
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
  // Of a frame in a batch. The same number today; two fields, so that a
  // mixture of another shape needs no other message.
  int frame_height = 224;
  int frame_width = 224;
  // What cannot be used: `fail`, or `skip`, which counts it.
  std::string on_error = "fail";
};

// InvalidArgument names a field that cannot be meant.
absl::Status CheckMixtureSpec(const MixtureSpec& spec);

// One data set of a mixture.
struct MixtureSource {
  std::string name;
  // In proportion to the others, above 0.
  double weight = 1;
  // Paths of its TFRecord files.
  std::vector<std::string> shards;
};

// A memory file with a line for each, sealed: what the spawn's fourth
// descriptor is.
absl::StatusOr<UniqueFd> WriteMixtureSources(
    const std::vector<MixtureSource>& sources);
// Reads the whole list, wherever `fd` stands. InvalidArgument names a line that
// is none, and a list without data sets.
absl::StatusOr<std::vector<MixtureSource>> ReadMixtureSources(int fd);

// The answer to `stop`.
struct StopReply {
  // Until all threads and files of the last epoch were gone.
  double teardown_s = 0;
};
std::string StopLine();
std::string StopReplyLine(const StopReply& reply);
absl::StatusOr<StopReply> ParseStopReply(absl::string_view line);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_WORKER_MIXTURE_MESSAGE_H_
