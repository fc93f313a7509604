#include "lib/tar/extract/safe_name.h"

#include <gtest/gtest.h>

namespace feedrate::tar {
namespace {

std::string Placed(std::string_view name, int strip = 0) {
  const PlacedName placed = PlaceName(name, strip);
  EXPECT_EQ(placed.refusal, nullptr) << name;
  EXPECT_EQ(placed.skip, Skip::kNone) << name;
  return placed.path;
}

TEST(PlaceName, TidiesWithoutChangingTheMeaning) {
  EXPECT_EQ(Placed("a/b"), "a/b");
  EXPECT_EQ(Placed("./a//b/./c/"), "a/b/c");
  EXPECT_EQ(Placed("./"), "");
  EXPECT_EQ(Placed("..."), "...");
  EXPECT_EQ(Placed("..a/b.."), "..a/b..");
}

TEST(PlaceName, StripsLeadingParts) {
  EXPECT_EQ(Placed("a/b/c", 1), "b/c");
  EXPECT_EQ(Placed("./a//b/c", 2), "c");
  EXPECT_EQ(PlaceName("a/", 1).skip, Skip::kStripped);
  EXPECT_EQ(PlaceName("a/b", 5).skip, Skip::kStripped);
}

TEST(PlaceName, RefusesWhatCouldLeave) {
  for (const char* name : {"/", "/a", "//a", "..", "../a", "a/..", "a/../b",
                           "./../a", "a/b/../.."}) {
    EXPECT_NE(PlaceName(name, 0).refusal, nullptr) << name;
    // Stripping must not strip the evidence.
    EXPECT_NE(PlaceName(name, 2).refusal, nullptr) << name;
  }
}

TEST(PlaceName, RefusesHarmEvenInLitter) {
  EXPECT_NE(PlaceName("__MACOSX/../../a", 0).refusal, nullptr);
  EXPECT_NE(PlaceName("../._a", 0).refusal, nullptr);
}

TEST(PlaceName, KnowsLitterAnywhere) {
  EXPECT_EQ(PlaceName(".DS_Store", 0).skip, Skip::kDsStore);
  EXPECT_EQ(PlaceName("a/.DS_Store", 0).skip, Skip::kDsStore);
  EXPECT_EQ(PlaceName("a/._b", 0).skip, Skip::kAppleDouble);
  EXPECT_EQ(PlaceName("._a/b", 0).skip, Skip::kAppleDouble);
  EXPECT_EQ(PlaceName("a/.AppleDouble/b", 0).skip, Skip::kAppleDouble);
  EXPECT_EQ(PlaceName("__MACOSX/a/b", 1).skip, Skip::kMacosx);
  EXPECT_EQ(Placed("a/b._c"), "a/b._c");
  EXPECT_EQ(Placed(".DS_Store2"), ".DS_Store2");
}

TEST(PlaceName, NeverTakesOurOwnFiles) {
  EXPECT_EQ(PlaceName(".stage_dataset.done", 0).skip, Skip::kStageFile);
  EXPECT_EQ(PlaceName("./a/.stage_dataset.journal", 1).skip, Skip::kStageFile);
  EXPECT_EQ(Placed("a/.stage_dataset.done"), "a/.stage_dataset.done");
}

TEST(SymlinkRefusal, LetsLinksClimbNoHigherThanTheRoot) {
  EXPECT_EQ(SymlinkRefusal("l", "a/b"), nullptr);
  EXPECT_EQ(SymlinkRefusal("l", "."), nullptr);
  EXPECT_EQ(SymlinkRefusal("d/l", "../a"), nullptr);
  EXPECT_EQ(SymlinkRefusal("d/e/l", "../..//./a/b/"), nullptr);
  EXPECT_NE(SymlinkRefusal("l", ".."), nullptr);
  EXPECT_NE(SymlinkRefusal("d/l", "../../a"), nullptr);
  EXPECT_NE(SymlinkRefusal("d/l", "./.././../a"), nullptr);
  EXPECT_NE(SymlinkRefusal("l", "/a"), nullptr);
}

TEST(SymlinkRefusal, RefusesToClimbBehindAName) {
  EXPECT_NE(SymlinkRefusal("d/e/l", "a/.."), nullptr);
  EXPECT_NE(SymlinkRefusal("d/e/l", "../a/../b"), nullptr);
}

}  // namespace
}  // namespace feedrate::tar
