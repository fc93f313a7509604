// Checks of output for tests: golden files and well-formed XML.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace feedrate {

// Succeeds if `actual` equals the content of `path`, relative to the workspace;
// otherwise says where they differ. To accept new output run the test with
// --test_env=FEEDRATE_GOLDEN_OUT=FOLDER and copy the files from there. The
// folder must be writable in the sandbox (--spawn_strategy=local).
::testing::AssertionResult MatchesGolden(const std::string& actual,
                                         const std::string& path);

// OK if tags of `xml` nest, attributes are quoted and unique, and text has no
// stray `<` or `&`. Supports only what our drawings use: no CDATA, no DTD.
absl::Status CheckXml(absl::string_view xml);

}  // namespace feedrate
