#include "lib/base/writer_main.h"

#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::ExitedWithCode;

// Ends the process, as a program does once: flags and logs have no second time.
void EndAsWriter(std::vector<std::string> words, const absl::Status& outcome) {
  words.insert(words.begin(), "write_things");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  WriterInfo info;
  info.name = "write_things";
  _exit(WriterMain(static_cast<int>(argv.size()), argv.data(), info,
                   [&](const std::string& folder) {
                     std::cerr << "into " << folder << "\n";
                     return outcome;
                   }));
}

TEST(WriterMainTest, WritesIntoTheFolderThatIsNamed) {
  EXPECT_EXIT(EndAsWriter({"--folder=a b"}, absl::OkStatus()),
              ExitedWithCode(0), "into a b");
}

TEST(WriterMainTest, MistakesAndFailures) {
  EXPECT_EXIT(EndAsWriter({}, absl::OkStatus()), ExitedWithCode(1),
              "--folder is missing");
  EXPECT_EXIT(EndAsWriter({"--folder=c"}, absl::InternalError("full")),
              ExitedWithCode(2), "write_things: full");
}

}  // namespace
}  // namespace feedrate
