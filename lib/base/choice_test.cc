#include "lib/base/choice.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(CheckChoiceTest, TakesWhatIsKnown) {
  EXPECT_TRUE(CheckChoice("--format", "jsonl", {"table", "jsonl"}).ok());
}

TEST(CheckChoiceTest, NamesFlagValueAndTheNearest) {
  const absl::Status status =
      CheckChoice("--format", "jsnl", {"table", "jsonl"});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(
      std::string(status.message()),
      AllOf(StartsWith("--format: \"jsnl\" is unknown"), HasSubstr("jsonl")));
}

}  // namespace
}  // namespace feedrate
