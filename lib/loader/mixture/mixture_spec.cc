#include "lib/loader/mixture/mixture_spec.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"

namespace feedrate {
namespace {

absl::Status AtLeast(absl::string_view field, int64_t value, int64_t least) {
  if (value >= least) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "mixture: ", field, " is ", value, "; use at least ", least));
}

absl::Status CheckFrame(absl::string_view field, int size) {
  if (size >= 16 && size % 2 == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "mixture: ", field, " is ", size, "; use an even number from 16 on"));
}

}  // namespace

absl::Status CheckMixtureSpec(const MixtureSpec& spec) {
  RETURN_IF_ERROR(AtLeast("batch_size", spec.batch_size, 1));
  RETURN_IF_ERROR(AtLeast("read_interleave", spec.read_interleave, 1));
  RETURN_IF_ERROR(AtLeast("decode_parallelism", spec.decode_parallelism, 0));
  RETURN_IF_ERROR(AtLeast("pipeline_interleave", spec.pipeline_interleave, 1));
  RETURN_IF_ERROR(AtLeast("mix_block_length", spec.mix_block_length, 1));
  RETURN_IF_ERROR(AtLeast("shuffle_buffer", spec.shuffle_buffer, 1));
  RETURN_IF_ERROR(AtLeast("queue_depth", spec.queue_depth, 1));
  RETURN_IF_ERROR(AtLeast("samples_per_episode", spec.samples_per_episode, 0));
  RETURN_IF_ERROR(AtLeast("pair_offset", spec.pair_offset, 1));
  RETURN_IF_ERROR(AtLeast("prime_each_dataset_samples",
                          spec.prime_each_dataset_samples, 0));
  RETURN_IF_ERROR(AtLeast("action_chunk", spec.action_chunk, 1));
  RETURN_IF_ERROR(CheckFrame("frame_height", spec.frame_height));
  RETURN_IF_ERROR(CheckFrame("frame_width", spec.frame_width));
  if (spec.metadata != "none" && spec.metadata != "dataset_only" &&
      spec.metadata != "full") {
    return absl::InvalidArgumentError(
        absl::StrCat("mixture: metadata \"", spec.metadata,
                     "\" is unknown; use none, dataset_only or full"));
  }
  if (spec.on_error == "fail" || spec.on_error == "skip") {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("mixture: on_error \"", spec.on_error,
                   "\" is unknown; use fail or skip"));
}

}  // namespace feedrate
