#include "lib/gate/duel/distrust.h"

#include <cstdint>
#include <filesystem>
#include <random>
#include <system_error>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "lib/base/private_folder.h"
#include "lib/base/status_macros.h"
#include "lib/records/job_identity.h"

namespace feedrate {
namespace {

// Both sides print the same, so a large output only takes time.
constexpr size_t kMostOutputBytes = size_t{64} << 20;

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
  RETURN_IF_ERROR(AdoptProcesses());
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
  command->most_output_bytes = kMostOutputBytes;
  // One for each run, so that no run finds what another left.
  ASSIGN_OR_RETURN(folder_, MakeTemporaryFolder("feedrate-distrust-"));
  ASSIGN_OR_RETURN(command->prefix, ConfinedPrefix(confinement_, folder_,
                                                   /*ends_all=*/true));
  return absl::OkStatus();
}

void Distrust::Check(TimedCommandResult* result) {
  const absl::Status ended = EndProcesses();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
  folder_.clear();
  if (!ended.ok()) {
    result->fault = absl::StrCat("distrust: ", ended.message());
  }
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
