// The git checkout that a program runs in, and running a command for its
// output.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace feedrate {

// Runs a program, found in PATH, without a shell, and returns its standard
// output; standard input and error are /dev/null. NotFound if it cannot be
// started, DeadlineExceeded if it and its children had to be killed after
// `time_limit`, Aborted if its exit code is not 0.
absl::StatusOr<std::string> RunCommand(const std::vector<std::string>& argv,
                                       absl::Duration time_limit);

struct GitState {
  // Full hash of the current commit. Empty outside a checkout and before the
  // first commit.
  std::string revision;
  // Whether tracked files differ from it. Absent if unknown: git is not
  // installed, refuses (the checkout belongs to another user) or takes too
  // long.
  std::optional<bool> dirty;
};

// Reads the state of the checkout that contains `folder`. Runs `git` only if
// there is a checkout; if git is not installed, reads the revision from the
// files in .git.
GitState ReadGitState(const std::string& folder);

// Parses the output of `git status --porcelain=v2 --branch`.
GitState ParseGitStatus(absl::string_view output);

// Reads the revision from the .git files of the checkout at `top`, for machines
// without git. Empty if they do not contain it.
std::string ReadRevisionFiles(const std::string& top);

}  // namespace feedrate
