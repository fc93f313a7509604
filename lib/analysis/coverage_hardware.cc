#include "lib/analysis/coverage_hardware.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "lib/analysis/row_book.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/matrix.pb.h"
#include "lib/config/policy.pb.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

enum class Kind { kUnknown, kCpu, kGpu };

constexpr char kHostCpu[] = "host_cpu";
// Channels of what files hold; more are made by repeating them.
constexpr int kFileChannels = 3;

Kind KindOf(const MachineFacts* facts, absl::string_view profile) {
  if (facts != nullptr) return facts->has_gpu ? Kind::kGpu : Kind::kCpu;
  if (profile.empty()) return Kind::kUnknown;
  return IsGpuProfile(profile) ? Kind::kGpu : Kind::kCpu;
}

// Whether the matrix runs this on the CPU of a GPU machine when asked for cuda.
bool MayRunOnHost(const Job& job, const Catalogue& catalogue) {
  if (job.hardware_class() == kHostCpu) return true;
  const Combination* on_cuda = catalogue.FindCombination(
      job.scenario(), job.library(), job.mode(), "cuda", job.scope());
  return on_cuda != nullptr && on_cuda->status() == HOST_CPU;
}

std::string Named(absl::string_view profile) {
  return profile.empty() ? "" : absl::StrCat(" (", profile, ")");
}

std::string CpuRowProblem(const Job& job, const Catalogue& catalogue, Kind kind,
                          absl::string_view row_class,
                          absl::string_view profile) {
  if (row_class == "gpu") return "hardware_class is gpu, planned is cpu";
  const bool may_run_on_host = MayRunOnHost(job, catalogue);
  if (row_class == kHostCpu && !may_run_on_host) {
    return absl::StrCat("a CPU row from a GPU machine", Named(profile),
                        ": only clips may use the host's CPU, and only of "
                        "libraries that the matrix says so of");
  }
  if (kind == Kind::kGpu && !may_run_on_host) {
    return absl::StrCat("a CPU row from a GPU machine", Named(profile));
  }
  if (kind == Kind::kGpu && row_class != kHostCpu && !row_class.empty()) {
    return absl::StrCat("measured on the CPU of a GPU machine", Named(profile),
                        " but not called host_cpu");
  }
  if (kind == Kind::kCpu &&
      (row_class == kHostCpu || job.hardware_class() == kHostCpu)) {
    return absl::StrCat(
        "planned on the CPU of a GPU machine, measured on one "
        "without a GPU",
        Named(profile));
  }
  return "";
}

}  // namespace

bool IsGpuProfile(absl::string_view machine_profile) {
  for (absl::string_view part : absl::StrSplit(machine_profile, '_')) {
    if (part.size() > 2 && absl::StartsWith(part, "sm") &&
        absl::c_all_of(part.substr(2), absl::ascii_isdigit)) {
      return true;
    }
  }
  return false;
}

float LeastItemBytes(const Row& row, const Catalogue& catalogue) {
  const Scenario* scenario = catalogue.FindScenario(row.scenario());
  if (scenario == nullptr || row.device() != "cpu") return 0;
  const CoveragePolicy& policy = catalogue.policy().coverage();
  if (row.mode() == "pipeline") {
    const double side = policy.pipeline_crop();
    return static_cast<float>(side * side * scenario->channels() *
                              std::max(1, scenario->clip_length()));
  }
  if (row.mode() != "micro" || scenario->media() != "image" ||
      row.dataset().files() <= 0 || row.dataset().bytes() <= 0 ||
      absl::c_linear_search(policy.partial_transforms(), row.transform())) {
    return 0;
  }
  const double copies = std::max(
      1.0,
      std::floor(static_cast<double>(scenario->channels()) / kFileChannels));
  return static_cast<float>(copies * row.dataset().bytes() /
                            row.dataset().files());
}

int ThreadsOf(const Job& job, const MachineFacts* machine,
              const Catalogue& catalogue) {
  for (const ThreadPolicy& policy : catalogue.policy().threads()) {
    if (policy.name() != job.thread_policy()) continue;
    // One thread in the parent and in every worker.
    if (policy.torch_intra_op() == 1) return std::max(1, job.workers());
  }
  // Libraries may start as many as there are cores, in every worker.
  if (machine == nullptr) return 0;
  return std::max(machine->usable_cores, job.workers());
}

std::string HardwareProblem(const Job& job, const RunState& run,
                            const RowBook& book, const Catalogue& catalogue) {
  const RowSettings::Values& values = book.settings().Get(run.settings);
  const std::string& profile = values[RowSettings::kMachineProfile];
  const std::string& hardware = values[RowSettings::kHardware];
  const std::string& row_class = book.Text(run.hardware_class);
  const Kind kind = KindOf(book.Machine(run), profile);
  if (job.device() == "cpu") {
    if (absl::StrContains(hardware, "NVIDIA")) {
      return absl::StrCat("a CPU row measured on ", hardware);
    }
    return CpuRowProblem(job, catalogue, kind, row_class, profile);
  }
  if (kind == Kind::kCpu) {
    return absl::StrCat("a ", job.device(), " row from a machine without a GPU",
                        Named(profile));
  }
  if (!row_class.empty() && row_class != "gpu") {
    return absl::StrCat("hardware_class is ", row_class, ", planned is gpu");
  }
  return "";
}

}  // namespace feedrate
