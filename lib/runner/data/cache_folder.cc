#include "lib/runner/data/cache_folder.h"

#include <cstdlib>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/base/files.h"

namespace feedrate {
namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

absl::StatusOr<std::string> CacheFolder() {
  const std::string xdg = Variable("XDG_CACHE_HOME");
  const std::string base = xdg.empty() ? Variable("HOME") : xdg;
  if (base.empty() || base[0] != '/') {
    return absl::FailedPreconditionError(absl::StrCat(
        "there is no folder for environments and caches: ",
        xdg.empty() ? "HOME" : "XDG_CACHE_HOME", " is \"", base,
        "\"; set XDG_CACHE_HOME to the full path of a folder of yours"));
  }
  return JoinPath(xdg.empty() ? JoinPath(base, ".cache") : base, "feedrate");
}

}  // namespace feedrate
