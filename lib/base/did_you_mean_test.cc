#include "lib/base/did_you_mean.h"

#include <string>

#include "gtest/gtest.h"

namespace feedrate {
namespace {

TEST(EditDistanceTest, CountsEdits) {
  EXPECT_EQ(EditDistance("", ""), 0);
  EXPECT_EQ(EditDistance("", "abc"), 3);
  EXPECT_EQ(EditDistance("abc", ""), 3);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3);
  EXPECT_EQ(EditDistance("wrokers", "workers"), 1);
}

TEST(EditDistanceTest, CaseAndHyphensAreFree) {
  EXPECT_EQ(EditDistance("Num-Items", "num_items"), 0);
}

TEST(DidYouMeanTest, NamesTheNearest) {
  EXPECT_EQ(DidYouMean("kornai", {"kornia", "pillow"}),
            "; did you mean \"kornia\"?");
}

TEST(DidYouMeanTest, ListsAFewWhenNothingIsNear) {
  EXPECT_EQ(DidYouMean("zzz", {"cpu", "cuda"}), "; use one of cpu, cuda");
}

TEST(DidYouMeanTest, IsSilentOnLongLists) {
  std::vector<std::string> many;
  for (int i = 0; i < 40; ++i) many.push_back("transform" + std::to_string(i));
  EXPECT_EQ(DidYouMean("q", many), "");
  EXPECT_EQ(DidYouMean("q", {}), "");
}

}  // namespace
}  // namespace feedrate
