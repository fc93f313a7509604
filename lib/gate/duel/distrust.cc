#include "lib/gate/duel/distrust.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <random>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/memory/memory.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "lib/base/private_folder.h"
#include "lib/base/status_macros.h"
#include "lib/machine/root.h"
#include "lib/records/job_identity.h"

namespace feedrate {
namespace {

// The children of this process, by /proc.
std::vector<pid_t> Children() {
  std::vector<pid_t> children;
  std::error_code ignored;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc", ignored)) {
    pid_t pid = 0;
    if (!absl::SimpleAtoi(entry.path().filename().string(), &pid)) continue;
    const std::string status =
        Root("/").ReadText(absl::StrCat("/proc/", pid, "/status"));
    if (absl::StrContains(status, absl::StrCat("\nPPid:\t", getpid(), "\n"))) {
      children.push_back(pid);
    }
  }
  return children;
}

// Ends what a run left behind, also in sessions of its own: whose parent ends
// becomes a child of this process.
void EndChildren() {
  while (true) {
    for (const pid_t pid : Children()) kill(pid, SIGKILL);
    // All of them are gone when there is no child to wait for.
    if (waitpid(-1, nullptr, 0) < 0 && errno == ECHILD) return;
  }
}

// 64 bits of the kernel's.
std::string NewSeed() {
  std::random_device random;
  const uint64_t high = random();
  // Programs read it as a signed number.
  return absl::StrCat((high << 31) ^ random());
}

}  // namespace

Distrust::Distrust(const Confinement& confinement)
    : confinement_(confinement), seed_(NewSeed()) {}

Distrust::~Distrust() {
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

absl::StatusOr<std::unique_ptr<Distrust>> Distrust::Make() {
  if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) {
    return absl::InternalError(
        "cannot adopt the processes that commands leave");
  }
  return absl::WrapUnique(new Distrust(FindConfinement()));
}

std::string Distrust::NotConfinedFrom() const {
  if (confinement_.Whole()) return "";
  return confinement_.network ? "files"
         : confinement_.files ? "the network"
                              : "the network and files";
}

void Distrust::NextPair() {
  seed_ = NewSeed();
  has_output_ = false;
  output_.clear();
}

absl::Status Distrust::Prepare(TimedCommand* command) {
  command->command =
      absl::StrReplaceAll(command->command, {{kSeedPlace, seed_}});
  command->capture_output = true;
  // One for each run, so that no run finds what another left.
  ASSIGN_OR_RETURN(folder_, MakeTemporaryFolder("feedrate-distrust-"));
  ASSIGN_OR_RETURN(command->prefix, ConfinedPrefix(confinement_, folder_));
  return absl::OkStatus();
}

void Distrust::Check(TimedCommandResult* result) {
  EndChildren();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
  folder_.clear();
  if (!result->ok()) return;
  if (result->output.empty()) {
    result->fault = "distrust: it printed nothing that could be compared";
  } else if (!has_output_) {
    has_output_ = true;
    output_ = std::move(result->output);
  } else if (result->output != output_) {
    result->fault = absl::StrCat(
        "distrust: it printed something else than the other side, seed ",
        seed_);
  }
}

void Distrust::Mark(Row* row) const {
  (*row->mutable_settings())[kDistrust] = "true";
  row->add_labels(kDistrust);
  if (!confinement_.Whole()) row->add_labels("not_confined");
  row->set_job_id(JobId(JobOfRow(*row)));
}

}  // namespace feedrate
