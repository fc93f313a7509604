#include "lib/gate/update_baseline.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/machine/git_state.h"
#include "lib/records/json_writer.h"

namespace feedrate {
namespace {

// Git answers in milliseconds; a broken network mount must not hang a gate.
constexpr absl::Duration kGitLimit = absl::Seconds(10);

// "metrics.json" at a time -> "metrics.20260102T030405.678Z.json".
std::string Stamped(const std::string& kind, absl::Time now) {
  const size_t dot = kind.rfind('.');
  return absl::StrCat(
      kind.substr(0, dot), ".",
      absl::FormatTime("%Y%m%dT%H%M%E3SZ", now, absl::UTCTimeZone()),
      kind.substr(dot));
}

absl::Status AppendUpdate(const std::string& path,
                          const BaselineUpdate& update) {
  std::string text;
  if (IsFile(path)) {
    ASSIGN_OR_RETURN(text, ReadFile(path));
    if (!text.empty() && text.back() != '\n') text += '\n';
  }
  AppendRecord(update, &text);
  return WriteFileAtomically(path, text);
}

}  // namespace

Checkout ReadCheckout(const std::string& folder) {
  std::string existing = folder.empty() ? "." : folder;
  while (!IsFolder(existing) && existing != "." && existing != "/") {
    existing = ParentFolder(existing);
  }
  const GitState state = ReadGitState(existing);
  Checkout checkout;
  checkout.git.set_revision(state.revision);
  if (state.dirty.has_value()) checkout.git.set_dirty(*state.dirty);
  const absl::StatusOr<std::string> branch = RunCommand(
      {"git", "-C", existing, "symbolic-ref", "--short", "-q", "HEAD"},
      kGitLimit);
  if (branch.ok()) {
    checkout.branch = std::string(absl::StripAsciiWhitespace(*branch));
  }
  return checkout;
}

absl::Status MayUpdate(const Checkout& checkout,
                       const std::string& maintainer_reason) {
  if (!maintainer_reason.empty()) return absl::OkStatus();
  constexpr char kRemedy[] =
      "; baselines are updated on branch main of a clean checkout, or with "
      "--i-am-a-maintainer=REASON";
  if (checkout.git.revision().empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "--update-baseline: the folder is in no git checkout", kRemedy));
  }
  if (checkout.branch != "main") {
    return absl::FailedPreconditionError(absl::StrCat(
        "--update-baseline: the checkout is on ",
        checkout.branch.empty() ? std::string("no branch")
                                : absl::StrCat("branch ", checkout.branch),
        kRemedy));
  }
  if (!checkout.git.has_dirty() || checkout.git.dirty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "--update-baseline: the checkout has changes that are not committed",
        kRemedy));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<BaselineUpdate>> UpdateBaselines(
    const std::string& folder, const std::vector<NewBaseline>& baselines,
    const Checkout& checkout, const std::string& maintainer_reason,
    absl::Time now) {
  RETURN_IF_ERROR(MakeFolder(folder));
  std::vector<BaselineUpdate> updates;
  for (const NewBaseline& baseline : baselines) {
    const std::string name =
        absl::StrCat(baseline.machine_profile, ".", baseline.kind);
    const std::string path = JoinPath(folder, name);
    BaselineUpdate update;
    update.set_machine_profile(baseline.machine_profile);
    update.set_file(name);
    update.set_updated_at(
        absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", now, absl::UTCTimeZone()));
    *update.mutable_git() = checkout.git;
    update.set_branch(checkout.branch);
    update.set_maintainer_reason(maintainer_reason);
    if (IsFile(path)) {
      ASSIGN_OR_RETURN(const std::string old, ReadFile(path));
      RETURN_IF_ERROR(MakeFolder(JoinPath(folder, "history")));
      update.set_replaced(absl::StrCat("history/", baseline.machine_profile,
                                       ".", Stamped(baseline.kind, now)));
      RETURN_IF_ERROR(
          WriteFileAtomically(JoinPath(folder, update.replaced()), old));
    }
    RETURN_IF_ERROR(WriteFileAtomically(path, baseline.content));
    RETURN_IF_ERROR(AppendUpdate(
        JoinPath(folder,
                 absl::StrCat(baseline.machine_profile, ".updates.jsonl")),
        update));
    updates.push_back(update);
  }
  return updates;
}

}  // namespace feedrate
