#include "lib/storage/remote/object_name.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

TEST(ObjectNameTest, TakesWhatPeopleWrite) {
  for (const char* name :
       {"a", "a/b.jpg", "with space/é ü 写真.png", "a+b=c,d&e?f#g%20", "a//b",
        "...", "a..b", ".hidden", "x/..y"}) {
    EXPECT_TRUE(CheckObjectName(name).ok()) << name;
  }
}

TEST(ObjectNameTest, SaysWhatIsWrong) {
  const auto wrong = [](const std::string& name) {
    return std::string(CheckObjectName(name).message());
  };
  EXPECT_THAT(wrong(""), HasSubstr("is empty"));
  EXPECT_THAT(wrong("/a"), HasSubstr("begins with a slash"));
  EXPECT_THAT(wrong("a/../b"), HasSubstr("\"a/../b\" has a part '..'"));
  EXPECT_THAT(wrong(".."), HasSubstr("has a part '..'"));
  EXPECT_THAT(wrong("./a"), HasSubstr("has a part '.'"));
  EXPECT_THAT(wrong("a\nb"), HasSubstr("\"a\\nb\" holds a control character"));
  EXPECT_THAT(wrong(std::string(1025, 'x')), HasSubstr("1024 bytes"));
}

}  // namespace
}  // namespace feedrate
