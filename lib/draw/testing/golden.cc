#include "lib/draw/testing/golden.h"

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"

namespace feedrate {

::testing::AssertionResult MatchesGolden(const std::string& actual,
                                         const std::string& path) {
  const char* const out = std::getenv("FEEDRATE_GOLDEN_OUT");
  if (out != nullptr && *out != '\0') {
    const std::string target = JoinPath(out, path);
    absl::Status status = MakeFolder(ParentFolder(target));
    if (status.ok()) status = WriteFileAtomically(target, actual);
    return ::testing::AssertionFailure()
           << (status.ok() ? "written: " + target : status.ToString());
  }
  const absl::StatusOr<std::string> expected = ReadFile(path);
  if (!expected.ok()) {
    return ::testing::AssertionFailure() << expected.status();
  }
  if (*expected == actual) return ::testing::AssertionSuccess();
  const std::vector<std::string> have = absl::StrSplit(actual, '\n');
  const std::vector<std::string> want = absl::StrSplit(*expected, '\n');
  size_t line = 0;
  while (line < have.size() && line < want.size() && have[line] == want[line]) {
    ++line;
  }
  return ::testing::AssertionFailure()
         << path << ":" << line + 1 << ": expected\n  "
         << (line < want.size() ? want[line] : "(the end)") << "\nand got\n  "
         << (line < have.size() ? have[line] : "(the end)");
}

}  // namespace feedrate
