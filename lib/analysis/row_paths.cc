#include "lib/analysis/row_paths.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"

namespace feedrate {

absl::StatusOr<std::vector<std::string>> ExpandPaths(
    const std::vector<std::string>& paths,
    const std::vector<std::string>& endings) {
  std::vector<std::string> expanded;
  for (const std::string& path : paths) {
    if (!IsFolder(path)) {
      expanded.push_back(path);
      continue;
    }
    std::vector<std::string> found;
    for (const std::string& ending : endings) {
      ASSIGN_OR_RETURN(const std::vector<std::string> files,
                       ListFiles(path, ending, /*recursive=*/true));
      found.insert(found.end(), files.begin(), files.end());
    }
    if (found.empty()) {
      return absl::NotFoundError(absl::StrCat(path, ": no file that ends in ",
                                              absl::StrJoin(endings, " or "),
                                              " in this folder"));
    }
    std::sort(found.begin(), found.end());
    expanded.insert(expanded.end(), found.begin(), found.end());
  }
  return expanded;
}

}  // namespace feedrate
