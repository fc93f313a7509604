#include "lib/reference/arguments.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Complaint(const Arguments& arguments) {
  return std::string(arguments.Finish().message());
}

TEST(ArgumentsTest, ReadsEachKind) {
  Arguments arguments(
      "blur", {"sigma=2.5", "size=5", "shift=(-1,0.5)", "border=replicate"});
  EXPECT_EQ(arguments.Number("sigma"), 2.5);
  EXPECT_EQ(arguments.Integer("size"), 5);
  EXPECT_THAT(arguments.Numbers("shift", 2), ElementsAre(-1, 0.5));
  EXPECT_EQ(arguments.Word("border", {"zero", "replicate"}), "replicate");
  EXPECT_EQ(arguments.NumberOr("gain", 7), 7);
  EXPECT_TRUE(arguments.Finish().ok()) << arguments.Finish();
}

TEST(ArgumentsTest, NobodyReadIt) {
  Arguments arguments("blur", {"size=5", "sise=3"});
  arguments.Integer("size");
  EXPECT_EQ(Complaint(arguments), "reference blur has no parameter \"sise\"");
}

TEST(ArgumentsTest, TheFirstMistakeIsKept) {
  Arguments arguments("blur", {"size=5.5"});
  EXPECT_EQ(arguments.Integer("size"), 0);
  EXPECT_EQ(arguments.Number("sigma"), 0);
  EXPECT_EQ(Complaint(arguments), "reference blur: size is not a whole number");
}

TEST(ArgumentsTest, RefusesWhatIsNoNumber) {
  for (const char* param : {"a=", "a=x", "a=nan", "a=1e999"}) {
    Arguments arguments("op", {param});
    arguments.Number("a");
    EXPECT_THAT(Complaint(arguments), HasSubstr("no number")) << param;
  }
}

TEST(ArgumentsTest, RefusesOtherLists) {
  for (const char* param : {"a=1,2", "a=(1)", "a=(1,2,3)", "a=()"}) {
    Arguments arguments("op", {param});
    EXPECT_THAT(arguments.Numbers("a", 2), ElementsAre(0, 0));
    EXPECT_FALSE(arguments.Finish().ok()) << param;
  }
}

TEST(ArgumentsTest, NamesTheWords) {
  Arguments arguments("op", {"border=mirror"});
  arguments.Word("border", {"zero", "replicate"});
  EXPECT_EQ(Complaint(arguments),
            "reference op: border is \"mirror\" instead of one of zero, "
            "replicate");
}

}  // namespace
}  // namespace feedrate
