#include "lib/storage/remote/brace_list.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(BraceListTest, CountsWithTheZerosThatAreWritten) {
  const auto names = ExpandBraceLists("shard-{008..011}.tar");
  ASSERT_TRUE(names.ok()) << names.status();
  EXPECT_THAT(*names, ElementsAre("shard-008.tar", "shard-009.tar",
                                  "shard-010.tar", "shard-011.tar"));
  EXPECT_THAT(*ExpandBraceLists("{9..11}"), ElementsAre("9", "10", "11"));
  EXPECT_THAT(*ExpandBraceLists("{0..1}"), ElementsAre("0", "1"));
  EXPECT_EQ(ExpandBraceLists("{000..099}")->size(), 100);
}

TEST(BraceListTest, ListsMultiply) {
  EXPECT_THAT(
      *ExpandBraceLists("{train,val}/{0..1}.tar"),
      ElementsAre("train/0.tar", "train/1.tar", "val/0.tar", "val/1.tar"));
}

TEST(BraceListTest, OtherBracesAreLetters) {
  for (const char* text : {"a", "{a}", "{}", "{a..b}", "x{1..", "}{", "{1}"}) {
    EXPECT_THAT(*ExpandBraceLists(text), ElementsAre(text));
    EXPECT_EQ(FindBraceList(text), absl::string_view::npos) << text;
  }
  EXPECT_EQ(FindBraceList("{a}/b{1..2}"), 5);
}

TEST(BraceListTest, RefusesWhatCannotBeMeant) {
  const auto wrong = [](const char* text) {
    return std::string(ExpandBraceLists(text).status().message());
  };
  EXPECT_THAT(wrong("{9..0}"), HasSubstr("{9..0} runs backwards"));
  EXPECT_THAT(wrong("{0..99999999}"), HasSubstr("more than a million"));
  EXPECT_THAT(wrong("{0..9999}{0..9999}"), HasSubstr("more than a million"));
  EXPECT_THAT(wrong("{a,b,a}"), HasSubstr("names a twice"));
}

}  // namespace
}  // namespace feedrate
