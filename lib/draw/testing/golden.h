// Holding output against a checked-in file.
#ifndef FEEDRATE_LIB_DRAW_TESTING_GOLDEN_H_
#define FEEDRATE_LIB_DRAW_TESTING_GOLDEN_H_

#include <string>

#include "gtest/gtest.h"

namespace feedrate {

// Success when `actual` is the content of `path`, relative to the workspace.
// Else says where they part. To accept new output run the test with
// --test_env=FEEDRATE_GOLDEN_OUT=FOLDER and copy the files from there; the
// folder has to be writable in the sandbox (--spawn_strategy=local).
::testing::AssertionResult MatchesGolden(const std::string& actual,
                                         const std::string& path);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_DRAW_TESTING_GOLDEN_H_
