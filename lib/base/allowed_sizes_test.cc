#include "lib/base/allowed_sizes.h"

#include <limits>

#include "gtest/gtest.h"

namespace feedrate {
namespace {

TEST(AllowedSizesTest, ASizeIsANumberThatAnObjectCanHave) {
  int64_t bytes = 7;
  for (const char* text : {"", "x", "-1", "1.5", "70368744177665",
                           "4611686018427387904", "99999999999999999999"}) {
    EXPECT_FALSE(ParseObjectBytes(text, &bytes)) << text;
    EXPECT_EQ(bytes, 7);
  }
  EXPECT_TRUE(ParseObjectBytes("70368744177664", &bytes));
  EXPECT_EQ(bytes, kMaxObjectBytes);
  EXPECT_TRUE(ParseObjectBytes("0", &bytes));
  EXPECT_EQ(bytes, 0);
}

TEST(AllowedSizesTest, AnItemFitsIntoMemory) {
  EXPECT_TRUE(CheckItemBytes(0).ok());
  EXPECT_TRUE(CheckItemBytes("a", kMaxItemBytes).ok());
  EXPECT_EQ(CheckItemBytes("a\n.jpg", kMaxItemBytes + 1).message(),
            "a\\n.jpg: has 1073741825 bytes, and an item may have 1073741824; "
            "remove it, or split it");
  EXPECT_FALSE(CheckItemBytes(-1).ok());
}

TEST(AllowedSizesTest, SumsDoNotOverflow) {
  DatasetSize size;
  int64_t objects = 0;
  while (size.Add("a", kMaxObjectBytes).ok()) ++objects;
  EXPECT_EQ(objects, kMaxDatasetBytes / kMaxObjectBytes);
  EXPECT_FALSE(DatasetSize().Add("a", kMaxObjectBytes + 1).ok());
  EXPECT_FALSE(
      DatasetSize().Add("a", std::numeric_limits<int64_t>::min()).ok());
}

TEST(AllowedSizesTest, AListFitsIntoMemory) {
  DatasetSize size;
  absl::Status status;
  for (int i = 0; i < 5 && status.ok(); ++i) {
    status = size.Add("a", 0, int64_t{1} << 30);
  }
  EXPECT_NE(status.message().find("takes more than"), std::string::npos)
      << status;
}

}  // namespace
}  // namespace feedrate
