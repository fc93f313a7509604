#include "lib/machine/git_state.h"

#include <stdlib.h>

#include <algorithm>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "lib/base/files.h"
#include "lib/machine/command.h"
#include "lib/machine/root.h"

namespace feedrate {
namespace {

// Milliseconds are usual; a checkout on a slow network disk must not hold up
// a measurement for longer than this.
constexpr absl::Duration kTimeLimit = absl::Seconds(2);

bool IsHash(absl::string_view text) {
  return (text.size() == 40 || text.size() == 64) &&
         std::all_of(text.begin(), text.end(), absl::ascii_isxdigit);
}

// The folder at or above `folder` that has `.git`. Empty: none.
std::string FindTop(const std::string& folder) {
  char* const real = realpath(folder.c_str(), nullptr);
  if (real == nullptr) return "";
  std::string top = real;
  free(real);
  while (!Root().Exists(absl::StrCat(top, "/.git"))) {
    if (top == "/" || top.empty()) return "";
    top = ParentFolder(top);
  }
  return top;
}

// Hash of a branch that git has packed away with others.
std::string FindPackedRef(const std::string& git, absl::string_view ref) {
  const std::string packed = Root().Read(git + "/packed-refs").value_or("");
  for (absl::string_view line : absl::StrSplit(packed, '\n')) {
    const std::pair<absl::string_view, absl::string_view> entry =
        absl::StrSplit(line, absl::MaxSplits(' ', 1));
    if (entry.second == ref && IsHash(entry.first)) {
      return std::string(entry.first);
    }
  }
  return "";
}

}  // namespace

GitState ParseGitStatus(absl::string_view output) {
  GitState state;
  state.dirty = false;
  for (absl::string_view line : absl::StrSplit(output, '\n')) {
    if (absl::ConsumePrefix(&line, "# branch.oid ")) {
      if (IsHash(line)) state.revision = std::string(line);
    } else if (!line.empty() && line[0] != '#' && line[0] != '?') {
      state.dirty = true;
    }
  }
  return state;
}

std::string ReadRevisionFiles(const std::string& top) {
  const Root files;
  // In a worktree or submodule `.git` is a file that says where the rest is,
  // and what all worktrees share is named there in turn.
  std::string git = absl::StrCat(top, "/.git");
  const std::string link = files.ReadText(git);
  absl::string_view target = link;
  if (absl::ConsumePrefix(&target, "gitdir:")) {
    git = JoinPath(top, absl::StripAsciiWhitespace(target));
  }
  const std::string common = files.ReadText(git + "/commondir");
  const std::string shared = common.empty() ? git : JoinPath(git, common);

  const std::string head = files.ReadText(git + "/HEAD");
  absl::string_view ref = head;
  if (!absl::ConsumePrefix(&ref, "ref: ")) return IsHash(head) ? head : "";
  for (const std::string& folder : {git, shared}) {
    const std::string hash = files.ReadText(absl::StrCat(folder, "/", ref));
    if (IsHash(hash)) return hash;
  }
  return FindPackedRef(shared, ref);
}

GitState ReadGitState(const std::string& folder) {
  const std::string top = FindTop(folder);
  if (top.empty()) return {};
  // One call gives revision and changes. Optional locks off: looking at a
  // checkout must not disturb a commit that is being made in it.
  const absl::StatusOr<std::string> output = RunCommand(
      {"git", "--no-optional-locks", "-C", top, "status", "--porcelain=v2",
       "--branch", "--untracked-files=no", "--ignore-submodules=untracked"},
      kTimeLimit);
  if (output.ok()) return ParseGitStatus(*output);
  GitState state;
  state.revision = ReadRevisionFiles(top);
  return state;
}

}  // namespace feedrate
