#include "lib/base/cache_folder.h"

#include <cstdlib>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lib/base/files.h"
#include "lib/base/private_folder.h"

namespace feedrate {
namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

absl::StatusOr<std::string> CacheFolder() {
  const std::string xdg = Variable("XDG_CACHE_HOME");
  const std::string home = Variable("HOME");
  const std::string& used = xdg.empty() ? home : xdg;
  if (!absl::StartsWith(used, "/")) {
    return absl::InvalidArgumentError(
        absl::StrCat(used.empty()  ? "neither HOME nor XDG_CACHE_HOME is set"
                     : xdg.empty() ? "HOME is not an absolute path"
                                   : "XDG_CACHE_HOME is not an absolute path",
                     "; set HOME or XDG_CACHE_HOME to a folder of your own"));
  }
  std::string folder =
      JoinPath(xdg.empty() ? JoinPath(home, ".cache") : xdg, "feedrate");
  const absl::Status made = MakePrivateFolder(folder);
  // On a read-only disk, only those who write there fail.
  if (absl::IsInvalidArgument(made)) return made;
  return folder;
}

}  // namespace feedrate
