#include "lib/runner/mixture/mixture_settings.h"

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"
#include "lib/records/records.pb.h"
#include "lib/worker/loader_message.h"

namespace feedrate {
namespace {

absl::Status Wrong(const Job& job, absl::string_view name,
                   absl::string_view text, absl::string_view wanted) {
  return absl::InvalidArgumentError(
      absl::StrCat("job ", job.job_id(), ": setting ", name, ": \"", text,
                   "\" is not possible; use ", wanted));
}

absl::Status ReadNumber(const Job& job, absl::string_view name, int64_t least,
                        int64_t* value) {
  const auto found = job.settings().find(std::string(name));
  if (found == job.settings().end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("job ", job.job_id(), ": setting ", name,
                     " is missing; plan it again"));
  }
  if (absl::SimpleAtoi(found->second, value) && *value >= least &&
      *value <= std::numeric_limits<int32_t>::max()) {
    return absl::OkStatus();
  }
  return Wrong(job, name, found->second,
               absl::StrCat("a whole number from ", least, " on"));
}

absl::Status ReadWeights(const Job& job, std::map<std::string, double>* out) {
  const auto found = job.settings().find("weights");
  if (found == job.settings().end()) return absl::OkStatus();
  for (const absl::string_view entry : absl::StrSplit(found->second, ',')) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(entry, absl::MaxSplits('=', 1));
    double weight = 0;
    if (parts.first.empty() || !absl::SimpleAtod(parts.second, &weight)) {
      return Wrong(job, "weights", entry, "NAME=WEIGHT,NAME=WEIGHT");
    }
    (*out)[std::string(parts.first)] = weight;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<MixtureSettingsOfJob> ParseMixtureSettings(const Job& job) {
  MixtureSettingsOfJob settings;
  MixtureSpec& spec = settings.spec;
  spec.batch_size = job.batch_size();
  const std::pair<const char*, int*> numbers[] = {
      {"read_interleave", &spec.read_interleave},
      {"decode_parallelism", &spec.decode_parallelism},
      {"pipeline_interleave", &spec.pipeline_interleave},
      {"mix_block_length", &spec.mix_block_length},
      {"shuffle_buffer", &spec.shuffle_buffer},
      {"queue_depth", &spec.queue_depth},
      {"samples_per_episode", &spec.samples_per_episode},
      {"pair_offset", &spec.pair_offset},
      {"prime_each_dataset_samples", &spec.prime_each_dataset_samples},
      {"frame_size", &spec.frame_height},
  };
  for (const auto& [name, value] : numbers) {
    int64_t number = 0;
    RETURN_IF_ERROR(ReadNumber(job, name, 0, &number));
    *value = static_cast<int>(number);
  }
  spec.frame_width = spec.frame_height;
  RETURN_IF_ERROR(ReadNumber(job, "steps", 1, &settings.steps));
  RETURN_IF_ERROR(ReadNumber(job, "warmup", 0, &settings.warmup));
  const auto metadata = job.settings().find("metadata");
  if (metadata != job.settings().end()) spec.metadata = metadata->second;
  RETURN_IF_ERROR(ReadWeights(job, &settings.weights));
  const absl::Status checked = CheckMixtureSpec(spec);
  if (checked.ok()) return settings;
  // Jobs have one size for both sides.
  return absl::InvalidArgumentError(
      absl::StrCat("job ", job.job_id(), ": ",
                   absl::StrReplaceAll(checked.message(),
                                       {{"frame_height", "frame_size"}})));
}

}  // namespace feedrate
