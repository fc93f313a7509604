#include "lib/runner/prepare_command.h"

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"
#include "lib/catalogue/catalogue.h"
#include "lib/hash/sha256.h"
#include "lib/records/records.pb.h"
#include "lib/runner/gpu_settings.h"
#include "lib/worker/message.h"

namespace feedrate {
namespace {

void SetThreads(const Catalogue& catalogue, const std::string& name,
                PrepareCommand* command) {
  for (const ThreadPolicy& policy : catalogue.policy().threads()) {
    if (policy.name() != name) continue;
    if (policy.has_opencv_threads()) {
      command->opencv_threads = policy.opencv_threads();
    }
    if (policy.has_opencv_opencl()) {
      command->opencv_opencl = policy.opencv_opencl();
    }
    if (policy.has_torch_intra_op()) {
      command->torch_intra_op = policy.torch_intra_op();
    }
    if (policy.has_torch_inter_op()) {
      command->torch_inter_op = policy.torch_inter_op();
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
  command.library = job.library();
  command.transform = job.transform();
  command.scenario = job.scenario();
  // What runs beside GPU rows on the CPU runs as on any CPU.
  command.device = job.hardware_class() == "host_cpu" ? "cpu" : job.device();
  command.seed = job.seed();
  ASSIGN_OR_RETURN(const GpuSettings gpu, GpuSettingsOf(job));
  command.batch = gpu.batch;
  SetThreads(catalogue, job.thread_policy(), &command);
  if (job.mode() == "decode") {
    // Policies that pin threads pin the decoder's own.
    command.decode.emplace().threads = command.torch_intra_op > 0 ? 1 : 0;
    return command;
  }
  // Its object is the runner's to make.
  if (job.mode() == "mixture") return command;
  if (IsTestLibrary(job.library())) {
    command.native_op = job.transform();
    const std::map<std::string, std::string> settings(job.settings().begin(),
                                                      job.settings().end());
    for (const auto& [name, value] : settings) {
      command.params.push_back(absl::StrCat(name, "=", value));
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
  command.native_op = implementation->native_op();
  command.params.assign(implementation->params().begin(),
                        implementation->params().end());
  command.wrap = implementation->wrap();
  return command;
}

}  // namespace feedrate
