#include "lib/runner/loader_spec.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/catalogue/catalogue.h"
#include "lib/records/records.pb.h"
#include "lib/runner/prepare_command.h"
#include "lib/worker/loader_message.h"

namespace feedrate {
namespace {

template <typename Words>
bool Contains(const Words& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// A job's settings, taken out one by one; what is left is the loader's own.
class Settings {
 public:
  explicit Settings(const Job& job)
      : rest_(job.settings().begin(), job.settings().end()) {}

  template <typename Number>
  absl::Status TakeInt(const std::string& name, Number least, Number* value) {
    const std::string text = Take(name);
    Number number;
    if (text.empty()) return absl::OkStatus();
    if (!absl::SimpleAtoi(text, &number) || number < least) {
      return Wrong(name, text,
                   absl::StrCat("a whole number from ", least, " on"));
    }
    *value = number;
    return absl::OkStatus();
  }
  absl::Status TakeBool(const std::string& name, bool* value) {
    const std::string text = Take(name);
    if (text.empty() || absl::SimpleAtob(text, value)) return absl::OkStatus();
    return Wrong(name, text, "true or false");
  }
  absl::Status TakeDouble(const std::string& name, double* value) {
    const std::string text = Take(name);
    if (text.empty() || absl::SimpleAtod(text, value)) return absl::OkStatus();
    return Wrong(name, text, "a number");
  }
  const std::map<std::string, std::string>& rest() const { return rest_; }

 private:
  std::string Take(const std::string& name) {
    const auto found = rest_.find(name);
    if (found == rest_.end()) return "";
    std::string text = found->second;
    rest_.erase(found);
    return text;
  }
  static absl::Status Wrong(const std::string& name, const std::string& text,
                            const std::string& wanted) {
    return absl::InvalidArgumentError(absl::StrCat(
        "setting ", name, ": \"", text, "\" is not possible; use ", wanted));
  }

  std::map<std::string, std::string> rest_;
};

// The recipe around the transform.
absl::Status SetRecipe(const Catalogue& catalogue, const Job& job,
                       LoaderSpec* spec) {
  const Policy& policy = catalogue.policy();
  const Scenario* scenario = catalogue.FindScenario(job.scenario());
  if (scenario == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("scenario \"", job.scenario(), "\" is not in the matrix"));
  }
  spec->channels = scenario->channels();
  spec->crop = policy.coverage().pipeline_crop();
  spec->is_crop = Contains(policy.loader().crop_transforms(), job.transform());
  spec->crop_position = job.params_profile() == "matched" ? "center" : "random";
  spec->mean.assign(policy.normalise().mean().begin(),
                    policy.normalise().mean().end());
  spec->std.assign(policy.normalise().std().begin(),
                   policy.normalise().std().end());
  spec->input_scale = policy.normalise().input_scale();
  if (IsTestLibrary(job.library())) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Transform* transform, TransformOfJob(catalogue, job));
  spec->batch_transform = transform->batch_transform();
  return absl::OkStatus();
}

}  // namespace

bool IsLoaderJob(const Job& job) { return job.mode() == "pipeline"; }

absl::StatusOr<LoaderSpec> LoaderSpecOfJob(const Catalogue& catalogue,
                                           const Job& job) {
  const LoaderPolicy& policy = catalogue.policy().loader();
  LoaderSpec spec;
  spec.scope = job.scope();
  spec.source = job.scope() == kMemoryScope ? "corpus" : "files";
  spec.batch_size = job.batch_size();
  spec.workers = job.workers();
  spec.prefetch = policy.prefetch_factor();
  spec.persistent = policy.persistent_workers();
  spec.pin_memory = job.device() == "cuda" &&
                    Contains(policy.pin_memory_scopes(), job.scope());
  spec.drop_last = policy.drop_last();
  spec.shuffle = policy.shuffle();
  spec.on_error = "skip";
  RETURN_IF_ERROR(SetRecipe(catalogue, job, &spec));
  Settings settings(job);
  RETURN_IF_ERROR(settings.TakeInt("prefetch", 1, &spec.prefetch));
  RETURN_IF_ERROR(settings.TakeBool("persistent_workers", &spec.persistent));
  RETURN_IF_ERROR(settings.TakeBool("pin_memory", &spec.pin_memory));
  spec.settings = settings.rest();
  for (const char* ours : {"min_time", "min_batches", "sample_ratio"}) {
    spec.settings.erase(ours);
  }
  return spec;
}

absl::StatusOr<EpochPolicy> EpochPolicyOfJob(const Job& job) {
  EpochPolicy policy;
  Settings settings(job);
  RETURN_IF_ERROR(settings.TakeDouble("min_time", &policy.min_time_s));
  RETURN_IF_ERROR(
      settings.TakeInt<int64_t>("min_batches", 1, &policy.min_batches));
  RETURN_IF_ERROR(settings.TakeDouble("sample_ratio", &policy.sample_ratio));
  if (policy.sample_ratio > 0 && policy.sample_ratio <= 1) return policy;
  return absl::InvalidArgumentError(
      absl::StrCat("setting sample_ratio: ", policy.sample_ratio,
                   " is not possible; use a share above 0 and at most 1"));
}

}  // namespace feedrate
