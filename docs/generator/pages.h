// All generated pages under docs/.
#ifndef FEEDRATE_DOCS_GENERATOR_PAGES_H_
#define FEEDRATE_DOCS_GENERATOR_PAGES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace feedrate {

struct Page {
  // From the workspace root, such as "docs/scope.md".
  std::string path;
  std::string content;
};

// Writes every page from the schemas and the catalogue. Reads both relative to
// the current folder, as `bazel run` and `bazel test` lay them out.
absl::StatusOr<std::vector<Page>> GeneratePages();

// OK when the files below `root` are what `pages` says; else FailedPrecondition
// that names the stale page and the command that renews it.
absl::Status CheckPages(const std::vector<Page>& pages,
                        const std::string& root);

// Writes `pages` below `root`.
absl::Status WritePages(const std::vector<Page>& pages,
                        const std::string& root);

}  // namespace feedrate

#endif  // FEEDRATE_DOCS_GENERATOR_PAGES_H_
