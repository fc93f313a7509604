#include "lib/runner/train/slurm_step.h"

#include <netdb.h>

#include <cstdlib>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"

namespace feedrate {
namespace {

// Below the ports that Linux hands out by itself, so that nobody is there.
constexpr int kFirstPort = 10000;
constexpr int kPorts = 20000;
constexpr int kLargestPort = 65535;

std::string TextOf(const Environment& get, const char* name) {
  const char* value = get(name);
  return value == nullptr ? "" : value;
}

absl::StatusOr<int> NumberOf(const Environment& get, const char* name,
                             int largest) {
  const std::string text = TextOf(get, name);
  int number = 0;
  if (!absl::SimpleAtoi(text, &number) || number < 0 || number > largest) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, "=\"", text, "\" in the environment: must be 0 to ",
                     largest, "; srun sets it"));
  }
  return number;
}

absl::StatusOr<std::string> LeaderOf(const Environment& get,
                                     const Resolver& resolves) {
  const std::string given = TextOf(get, "MASTER_ADDR");
  if (!given.empty()) return given;
  const std::string first = FirstHost(TextOf(get, "SLURM_STEP_NODELIST"));
  if (!first.empty() && resolves(first)) return first;
  const std::string launch = TextOf(get, "SLURM_LAUNCH_NODE_IPADDR");
  if (!launch.empty()) return launch;
  return absl::InvalidArgumentError(
      absl::StrCat("\"", first,
                   "\", the first node of the step, has no address; set "
                   "MASTER_ADDR to one"));
}

bool HasAddress(const std::string& host) {
  addrinfo* found = nullptr;
  const bool has = getaddrinfo(host.c_str(), nullptr, nullptr, &found) == 0;
  if (has) freeaddrinfo(found);
  return has;
}

}  // namespace

std::string FirstHost(const std::string& nodelist) {
  const size_t bracket = nodelist.find_first_of("[,");
  if (bracket == std::string::npos || nodelist[bracket] == ',') {
    return nodelist.substr(0, bracket);
  }
  const size_t end = nodelist.find_first_of("-,]", bracket);
  if (end == std::string::npos) return "";
  const std::string number = nodelist.substr(bracket + 1, end - bracket - 1);
  // Names may go on behind the bracket: "rack[1-2]-gpu".
  const size_t close = nodelist.find(']', end);
  if (close == std::string::npos) return "";
  const size_t comma = nodelist.find(',', close);
  return absl::StrCat(
      nodelist.substr(0, bracket), number,
      nodelist.substr(close + 1,
                      comma == std::string::npos ? comma : comma - close - 1));
}

absl::StatusOr<absl::optional<SlurmStep>> SlurmStepOf(
    const Environment& get, const Resolver& resolves) {
  // Only srun sets it: a batch script has SLURM_PROCID too.
  if (get("SLURM_STEP_NUM_TASKS") == nullptr) {
    return absl::optional<SlurmStep>();
  }
  constexpr int kMost = 1 << 20;
  SlurmStep step;
  ASSIGN_OR_RETURN(step.world_size,
                   NumberOf(get, "SLURM_STEP_NUM_TASKS", kMost));
  if (step.world_size < 2) return absl::optional<SlurmStep>();
  ASSIGN_OR_RETURN(step.rank,
                   NumberOf(get, "SLURM_PROCID", step.world_size - 1));
  ASSIGN_OR_RETURN(step.local_rank, NumberOf(get, "SLURM_LOCALID", step.rank));
  ASSIGN_OR_RETURN(step.leader, LeaderOf(get, resolves));
  const std::string job = TextOf(get, "SLURM_JOB_ID");
  const std::string number = TextOf(get, "SLURM_STEP_ID");
  step.token = absl::StrCat(job, ".", number);
  if (get("MASTER_PORT") != nullptr) {
    ASSIGN_OR_RETURN(step.port, NumberOf(get, "MASTER_PORT", kLargestPort));
  } else {
    step.port = kFirstPort +
                static_cast<int>(std::hash<std::string>()(step.token) % kPorts);
  }
  return absl::make_optional(step);
}

absl::StatusOr<absl::optional<SlurmStep>> ThisSlurmStep() {
  return SlurmStepOf([](const char* name) { return std::getenv(name); },
                     HasAddress);
}

}  // namespace feedrate
