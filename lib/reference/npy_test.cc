#include "lib/reference/npy.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;

std::string File(const std::string& header, const std::string& data) {
  return std::string("\x93NUMPY\x01\x00", 8) +
         static_cast<char>(header.size()) + '\0' + header + data;
}

std::string Header(const std::string& type, const std::string& shape) {
  return "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" +
         shape + "), }\n";
}

TEST(NpyTest, Bytes) {
  const auto array = ParseNpy(File(Header("|u1", "1, 2, 3"), "abcdef"));
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_EQ(array->dtype, "uint8");
  EXPECT_THAT(array->shape, ElementsAre(1, 2, 3));
  EXPECT_EQ(array->data, "abcdef");
}

TEST(NpyTest, Floats) {
  const auto array = ParseNpy(File(Header("<f4", "2,"), "12345678"));
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_EQ(array->dtype, "float32");
  EXPECT_THAT(array->shape, ElementsAre(2));
}

TEST(NpyTest, RefusesOtherFiles) {
  const std::string good = File(Header("|u1", "2, 3"), "abcdef");
  ASSERT_TRUE(ParseNpy(good).ok());
  EXPECT_FALSE(ParseNpy("").ok());
  EXPECT_FALSE(ParseNpy("P6 1 1 255 abcdef").ok());
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(ParseNpy(good.substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(ParseNpy(good + "g").ok());
  EXPECT_FALSE(ParseNpy(File(Header("<f8", "1,"), "12345678")).ok());
  EXPECT_FALSE(ParseNpy(File(Header("|u1", "-1, 3"), "abc")).ok());
  EXPECT_FALSE(ParseNpy(File(Header("|u1", "x"), "abc")).ok());
}

}  // namespace
}  // namespace feedrate
