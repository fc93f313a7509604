#include "lib/catalogue/checker.h"

#include "gtest/gtest.h"

namespace feedrate {
namespace {

TEST(CheckerTest, NothingWrongIsOk) {
  Checker check("f.textproto");
  check.Enter("libraries", 0, "kornia");
  check.Present("name", "kornia");
  check.OneOf("origin", "public", {"public", "ours"});
  check.That(true, "never said");
  EXPECT_TRUE(check.ok());
  EXPECT_TRUE(check.status().ok());
}

TEST(CheckerTest, ComplaintsNameFileAndEntry) {
  Checker check("f.textproto");
  check.Enter("libraries", 3, "kornia");
  check.Present("origin", "");
  EXPECT_EQ(check.status().message(),
            "f.textproto: libraries[3] (kornia): origin is missing");
}

TEST(CheckerTest, AnEntryWithoutANameHasItsNumber) {
  Checker check("f.textproto");
  check.Enter("libraries", 3, "");
  check.Present("name", "");
  EXPECT_EQ(check.status().message(),
            "f.textproto: libraries[3]: name is missing");
}

TEST(CheckerTest, UnknownWordsGetASuggestion) {
  Checker check("f.textproto");
  check.OneOf("device", "cuba", {"cpu", "cuda"});
  EXPECT_EQ(check.status().message(),
            "f.textproto: device \"cuba\" is unknown; did you mean \"cuda\"?");
}

TEST(CheckerTest, TheFirstComplaintStays) {
  Checker check("f.textproto");
  check.That(false, "first");
  check.That(false, "second");
  EXPECT_EQ(check.status().message(), "f.textproto: first");
}

}  // namespace
}  // namespace feedrate
