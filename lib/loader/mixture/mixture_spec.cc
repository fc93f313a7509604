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

const std::vector<MixtureNumber>& MixtureNumbers() {
  static const auto& numbers = *new std::vector<MixtureNumber>{
      {"read_interleave", &MixtureSpec::read_interleave, 1},
      {"decode_parallelism", &MixtureSpec::decode_parallelism, 0},
      {"pipeline_interleave", &MixtureSpec::pipeline_interleave, 1},
      {"mix_block_length", &MixtureSpec::mix_block_length, 1},
      {"shuffle_buffer", &MixtureSpec::shuffle_buffer, 1},
      {"queue_depth", &MixtureSpec::queue_depth, 1},
      {"samples_per_episode", &MixtureSpec::samples_per_episode, 0},
      {"pair_offset", &MixtureSpec::pair_offset, 1},
      {"prime_each_dataset_samples", &MixtureSpec::prime_each_dataset_samples,
       0},
      {"action_chunk", &MixtureSpec::action_chunk, 1},
  };
  return numbers;
}

absl::Status CheckMixtureSpec(const MixtureSpec& spec) {
  RETURN_IF_ERROR(AtLeast("batch_size", spec.batch_size, 1));
  for (const MixtureNumber& number : MixtureNumbers()) {
    RETURN_IF_ERROR(AtLeast(number.name, spec.*number.field, number.least));
  }
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
