#include "lib/runner/core/job_settings.h"

#include <algorithm>
#include <limits>
#include <map>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/policy.pb.h"
#include "lib/hash/sha256.h"
#include "lib/records/job_identity.h"
#include "lib/worker/message.h"

namespace feedrate {
namespace {

void SetThreads(const Catalogue& catalogue, const std::string& name,
                PrepareCommand* command) {
  for (const ThreadPolicy& policy : catalogue.policy().threads()) {
    if (policy.name() != name) continue;
    if (policy.has_opencv_threads()) {
      command->set_opencv_threads(policy.opencv_threads());
    }
    if (policy.has_opencv_opencl()) {
      command->set_opencv_opencl(policy.opencv_opencl());
    }
    if (policy.has_torch_intra_op()) {
      command->set_torch_intra_op(policy.torch_intra_op());
    }
    if (policy.has_torch_inter_op()) {
      command->set_torch_inter_op(policy.torch_inter_op());
    }
  }
}

}  // namespace

bool IsTestLibrary(absl::string_view library) {
  return library == "null" || library == "faulty";
}

absl::StatusOr<const Transform*> TransformOfJob(const Catalogue& catalogue,
                                                const Job& job) {
  const Scenario* scenario = catalogue.FindScenario(job.scenario());
  if (scenario == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("scenario \"", job.scenario(), "\" is not in the matrix"));
  }
  ASSIGN_OR_RETURN(const TransformSet* set, catalogue.Transforms(*scenario));
  for (const Transform& transform : set->transforms()) {
    if (transform.name() == job.transform()) return &transform;
  }
  return absl::NotFoundError(absl::StrCat("transform \"", job.transform(),
                                          "\" is not in the set of ",
                                          job.scenario()));
}

absl::StatusOr<PrepareCommand> PrepareCommandOfJob(const Catalogue& catalogue,
                                                   const Job& job) {
  PrepareCommand command;
  command.set_library(job.library());
  command.set_transform(job.transform());
  command.set_scenario(job.scenario());
  // CPU rows next to GPU rows run as on any CPU.
  command.set_device(job.hardware_class() == "host_cpu" ? "cpu" : job.device());
  command.set_seed(job.seed());
  ASSIGN_OR_RETURN(const GpuSettings gpu, GpuSettingsOf(job));
  if (gpu.batch > 0) command.set_batch(gpu.batch);
  command.set_opencv_opencl(true);
  SetThreads(catalogue, job.thread_policy(), &command);
  if (job.mode() == "decode") {
    // Policies that pin threads also pin those of the decoder.
    command.mutable_decode()->set_threads(command.torch_intra_op() > 0 ? 1 : 0);
    return command;
  }
  // MixtureWork sets the mixture part.
  if (job.mode() == "mixture") return command;
  if (IsSubject(job.library())) {
    command.set_native_op(job.transform());
    return command;
  }
  if (IsTestLibrary(job.library())) {
    command.set_native_op(job.transform());
    const std::map<std::string, std::string> settings(job.settings().begin(),
                                                      job.settings().end());
    for (const auto& [name, value] : settings) {
      command.add_params(absl::StrCat(name, "=", value));
    }
    return command;
  }
  ASSIGN_OR_RETURN(const Transform* transform, TransformOfJob(catalogue, job));
  const Implementation* implementation = catalogue.ImplementationOf(
      *transform, job.library(), job.params_profile());
  if (implementation == nullptr) {
    return absl::NotFoundError(absl::StrCat(
        job.library(), " has no ", job.transform(), " in the profile \"",
        job.params_profile(), "\" of ", job.scenario()));
  }
  if (!job.params_sha256().empty() &&
      job.params_sha256() != Sha256Hex(CanonicalParameters(*implementation))) {
    return absl::InvalidArgumentError(absl::StrCat(
        "job ", job.job_id(), " was planned with other parameters of ",
        job.transform(), " than the configs here have; plan it again"));
  }
  command.set_native_op(implementation->native_op());
  *command.mutable_params() = implementation->params();
  command.set_wrap(implementation->wrap());
  return command;
}

namespace {

// The most specific entry: for the library, else for the media, else any.
const WarmupPolicy* FindWarmUp(const Policy& policy, const Job& job,
                               const std::string& media) {
  const WarmupPolicy* best = nullptr;
  int best_score = -1;
  for (const WarmupPolicy& entry : policy.warmup()) {
    if (entry.mode() != job.mode()) continue;
    if (entry.has_media() && entry.media() != media) continue;
    if (entry.has_library() && entry.library() != job.library()) continue;
    const int score = 2 * entry.has_library() + entry.has_media();
    if (score <= best_score) continue;
    best = &entry;
    best_score = score;
  }
  return best;
}

PreflightPolicy PreflightOf(const MediaPolicy& media, const Job& job) {
  PreflightPolicy policy;
  policy.items = job.has_preflight_items() ? job.preflight_items()
                                           : media.preflight_items();
  policy.passes = media.preflight_passes();
  policy.slow_threshold_s = job.has_slow_threshold_s()
                                ? job.slow_threshold_s()
                                : media.slow_threshold_s();
  policy.max_s = media.max_preflight_s();
  policy.slow_skip = media.slow_skip() && !job.disable_slow_skip();
  return policy;
}

WarmUpPolicy WarmUpOf(const WarmupPolicy& entry) {
  WarmUpPolicy policy;
  policy.subset_items = entry.subset_items();
  policy.window = entry.window();
  policy.min_windows = entry.min_windows();
  policy.max_passes = entry.max_iterations();
  policy.stable_within = entry.stable_within();
  policy.full_passes = entry.passes();
  policy.max_s = entry.has_max_s() ? entry.max_s()
                                   : std::numeric_limits<double>::infinity();
  return policy;
}

// Samples cover many calls, and the clock must settle first.
void SetGpuPolicy(const GpuMeasuringPolicy& gpu, JobPolicy* policy) {
  policy->chunk.min_samples = gpu.min_samples();
  if (policy->gpu.batch > 0) {
    // A batch is one call.
    policy->chunk.fixed = policy->gpu.batch;
    policy->preflight.chunk = policy->preflight.first_items = policy->gpu.batch;
  } else {
    policy->chunk.fixed = gpu.calls_per_sample();
    policy->chunk.enough_s = gpu.sample_s();
    policy->preflight.chunk = policy->preflight.items;
    policy->preflight.first_items = 1;
  }
  policy->warm_up.cold = policy->gpu.cold;
  policy->warm_up.clock_within = gpu.clock_within();
  policy->warm_up.max_s = std::max(policy->warm_up.max_s, gpu.max_warm_up_s());
}

}  // namespace

absl::StatusOr<JobPolicy> JobPolicyOf(const Catalogue& catalogue,
                                      const Job& job, double hang_s) {
  const Policy& policy = catalogue.policy();
  const Scenario* scenario = catalogue.FindScenario(job.scenario());
  const MediaPolicy* media =
      scenario == nullptr ? nullptr : catalogue.FindMedia(scenario->media());
  const WarmupPolicy* warm_up =
      media == nullptr ? nullptr : FindWarmUp(policy, job, media->media());
  if (warm_up == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("the policy has no warm-up for scenario \"",
                     job.scenario(), "\" in mode \"", job.mode(), "\""));
  }
  JobPolicy result;
  result.unit = media->media();
  result.preflight = PreflightOf(*media, job);
  result.warm_up = WarmUpOf(*warm_up);
  result.warm_up.hang_s = hang_s > 0 ? hang_s : policy.measuring().hang_s();
  // A preflight that stops at its limit is slow, not hanging.
  result.preflight.hang_s =
      hang_s > 0 ? hang_s : result.preflight.max_s + result.warm_up.hang_s;
  result.chunk.chunk_below_s = policy.measuring().chunk_below_s();
  result.chunk.max_clock_share = policy.measuring().max_clock_share();
  const auto min_time = job.settings().find("min_time");
  if (min_time != job.settings().end() &&
      (!absl::SimpleAtod(min_time->second, &result.chunk.min_s) ||
       !(result.chunk.min_s >= 0))) {
    return absl::InvalidArgumentError(
        absl::StrCat("job ", job.job_id(), ": min_time ", min_time->second,
                     " is not possible; use seconds, 0 or more"));
  }
  if (OnGpu(job)) {
    ASSIGN_OR_RETURN(result.gpu, GpuSettingsOf(job));
    SetGpuPolicy(policy.measuring().gpu(), &result);
  }
  return result;
}

NoisePolicy NoisePolicyOf(const MeasuringPolicy& policy) {
  NoisePolicy noise;
  noise.contended_share = policy.contended_share();
  noise.noisy_share = policy.noisy_share();
  noise.min_wait_s = policy.min_wait_s();
  noise.others_share = policy.others_share();
  noise.multithreaded_cores = policy.multithreaded_cores();
  noise.throttled_clock = policy.throttled_clock();
  noise.migrations_per_s = policy.migrations_per_s();
  noise.min_s = policy.min_judged_s();
  return noise;
}

namespace {

constexpr char kL2[] = "l2";
constexpr char kBatch[] = "gpu_batch";
// More images than any GPU holds.
constexpr int64_t kMostItems = int64_t{1} << 20;

}  // namespace

bool OnGpu(const Job& job) {
  return job.mode() == "micro" && job.device() == "cuda" &&
         job.hardware_class() != "host_cpu";
}

absl::StatusOr<GpuSettings> GpuSettingsOf(const Job& job) {
  GpuSettings settings;
  const auto l2 = job.settings().find(kL2);
  const auto batch = job.settings().find(kBatch);
  const auto end = job.settings().end();
  if (!OnGpu(job)) {
    // Other modes may have settings with these names.
    if (job.mode() != "micro" || (l2 == end && batch == end)) return settings;
    return absl::InvalidArgumentError(
        absl::StrCat("job ", job.job_id(), ": the settings ", kL2, " and ",
                     kBatch, " are for device cuda, not ", job.device()));
  }
  if (l2 != end) {
    if (l2->second != "cold" && l2->second != "hot") {
      return absl::InvalidArgumentError(absl::StrCat(
          kL2, "=", l2->second, " is not possible; use cold or hot"));
    }
    settings.cold = l2->second == "cold";
  }
  if (batch != end && (!absl::SimpleAtoi(batch->second, &settings.batch) ||
                       settings.batch < 1 || settings.batch > kMostItems)) {
    return absl::InvalidArgumentError(
        absl::StrCat(kBatch, "=", batch->second,
                     " is not possible; use a number from 1 to ", kMostItems));
  }
  return settings;
}

bool IsNullJob(const Job& job) { return job.library() == "null"; }
bool IsLoaderJob(const Job& job) { return job.mode() == "pipeline"; }
bool IsMixtureJob(const Job& job) { return job.mode() == "mixture"; }

bool NeedsLocalData(const Catalogue& catalogue, const Job& job) {
  const Library* const library = catalogue.FindLibrary(job.library());
  const bool reads_objects =
      IsNullJob(job) || (library != nullptr && library->reads_objects());
  return !IsLoaderJob(job) || job.scope() == kMemoryScope || !reads_objects ||
         !ContainerOf(job).empty();
}

std::vector<std::string> ItemEndings(const Catalogue& catalogue,
                                     const Job& job) {
  const Scenario* scenario = catalogue.FindScenario(job.scenario());
  const MediaPolicy& media = *catalogue.FindMedia(scenario->media());
  std::vector<std::string> endings(media.extensions().begin(),
                                   media.extensions().end());
  for (const std::string& ending :
       catalogue.policy().loader().array_extensions()) {
    endings.push_back(ending);
  }
  // The weights of a mixture lie beside its shards.
  if (IsMixtureJob(job)) endings.emplace_back("textproto");
  return endings;
}

Job NullJob(const Job& job) {
  Job null;
  null.set_scenario(job.scenario());
  null.set_mode(job.mode());
  null.set_scope(job.scope());
  null.set_library("null");
  null.set_transform("Nothing");
  null.set_device("cpu");
  null.set_num_items(job.num_items());
  null.set_batch_size(job.batch_size());
  null.set_thread_policy(job.thread_policy());
  null.set_dataset(job.dataset());
  null.set_seed(job.seed());
  null.set_hardware_class(job.hardware_class());
  null.add_run_indexes(0);
  null.set_job_id(JobId(null));
  null.set_output(ResultFileName(null, 1));
  return null;
}

}  // namespace feedrate
