#include "lib/media/jpeg_codes.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace feedrate {
namespace {

TEST(JpegCodeBytesTest, TakesOutWhatIsStuffed) {
  JpegCodeBytes bytes;
  const std::string data(
      "ab\xff\0c\xff\xd0"
      "d\xff\xd1\xff\xd9xyz",
      14);
  const auto* begin = reinterpret_cast<const uint8_t*>(data.data());
  bytes.Assign(begin, data.size(), /*restarts=*/true);
  ASSERT_EQ(bytes.parts(), 3);
  const auto part = [&](int i) {
    return std::string(bytes.begin(i), bytes.end(i));
  };
  EXPECT_EQ(part(0),
            "ab\xff"
            "c");
  EXPECT_EQ(part(1), "d");
  EXPECT_EQ(part(2), "");
  // Where none are expected a restart marker ends everything.
  bytes.Assign(begin, data.size(), /*restarts=*/false);
  ASSERT_EQ(bytes.parts(), 1);
  EXPECT_EQ(part(0),
            "ab\xff"
            "c");
  // An 0xff that nothing follows says nothing.
  bytes.Assign(begin, 3, /*restarts=*/true);
  EXPECT_EQ(part(0), "ab");
  bytes.Assign(begin, 0, /*restarts=*/true);
  EXPECT_EQ(part(0), "");
}

TEST(JpegCodeBytesTest, AnyPlaceOfAMarker) {
  for (size_t at = 0; at < 60; ++at) {
    std::string data(61, 'x');
    data.insert(at, std::string("\xff\0", 2));
    std::string expected(61, 'x');
    expected.insert(at, 1, '\xff');
    JpegCodeBytes bytes;
    bytes.Assign(reinterpret_cast<const uint8_t*>(data.data()), data.size(),
                 false);
    EXPECT_EQ(std::string(bytes.begin(0), bytes.end(0)), expected);
  }
}

}  // namespace
}  // namespace feedrate
