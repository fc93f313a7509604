#include "lib/media/npy.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;

std::string Npy(const std::string& type, const std::string& shape,
                const std::string& data) {
  std::string header = absl::StrCat(
      "{'descr': '", type, "', 'fortran_order': False, 'shape': ", shape, "}");
  return absl::StrCat(std::string("\x93NUMPY\x01\x00", 8),
                      std::string(1, static_cast<char>(header.size())),
                      std::string(1, '\0'), header, data);
}

TEST(NpyTest, ViewsWithoutACopy) {
  const std::string file = Npy("|u1", "(2, 1, 3)", "abcdef");
  ASSERT_TRUE(IsNpy(file));
  const auto view = ViewNpy(file);
  ASSERT_TRUE(view.ok()) << view.status();
  EXPECT_EQ(view->dtype, "uint8");
  EXPECT_THAT(view->shape, ElementsAre(2, 1, 3));
  EXPECT_EQ(view->data, "abcdef");
  EXPECT_EQ(view->data.data(), file.data() + file.size() - 6);
}

TEST(NpyTest, RefusesWhatItDoesNotUnderstand) {
  EXPECT_FALSE(IsNpy("\xff\xd8\xff"));
  EXPECT_FALSE(ViewNpy("").ok());
  EXPECT_FALSE(ViewNpy(Npy("<i8", "(1,)", "12345678")).ok());
  EXPECT_FALSE(ViewNpy(Npy("|u1", "(2, 1, 3)", "abcde")).ok());
  EXPECT_FALSE(ViewNpy(Npy("|u1", "(-2,)", "")).ok());
  EXPECT_FALSE(ViewNpy(Npy("|u1", "(2,)", "ab").substr(0, 20)).ok());
}

}  // namespace
}  // namespace feedrate
