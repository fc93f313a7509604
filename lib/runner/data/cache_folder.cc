#include "lib/runner/data/cache_folder.h"

#include <cstdlib>
#include <string>

#include "lib/base/files.h"

namespace feedrate {
namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

std::string CacheFolder() {
  const std::string xdg = Variable("XDG_CACHE_HOME");
  return JoinPath(xdg.empty() ? JoinPath(Variable("HOME"), ".cache") : xdg,
                  "feedrate");
}

}  // namespace feedrate
