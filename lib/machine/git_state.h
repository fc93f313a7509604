// The git checkout that a program runs in.
#ifndef FEEDRATE_LIB_MACHINE_GIT_STATE_H_
#define FEEDRATE_LIB_MACHINE_GIT_STATE_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace feedrate {

struct GitState {
  // Full hash of what is checked out. Empty outside a checkout and before the
  // first commit.
  std::string revision;
  // Whether tracked files differ from it. Absent when nobody can tell: git is
  // not installed, refuses (the checkout is another user's) or takes too long.
  std::optional<bool> dirty;
};

// Looks at the checkout that `folder` lies in. Runs `git` only where there is
// one; without git the revision is read from the files.
GitState ReadGitState(const std::string& folder);

// Reads what `git status --porcelain=v2 --branch` wrote.
GitState ParseGitStatus(absl::string_view output);

// Reads the revision from the files below the checkout at `top`, for machines
// without git. Empty when they do not tell.
std::string ReadRevisionFiles(const std::string& top);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MACHINE_GIT_STATE_H_
