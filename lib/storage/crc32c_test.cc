#include "lib/storage/crc32c.h"

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

// A bit at a time, as the polynomial says.
uint32_t Slow(absl::string_view bytes) {
  uint32_t crc = ~0u;
  for (const char c : bytes) {
    crc ^= static_cast<uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0);
    }
  }
  return ~crc;
}

TEST(Crc32cTest, KnownValues) {
  EXPECT_EQ(Crc32c(""), 0u);
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43u);
}

TEST(Crc32cTest, AllLengthsAndAlignments) {
  std::string text;
  for (int i = 0; i < 700; ++i) text.push_back(static_cast<char>(i * 37 + 11));
  for (size_t from = 0; from < 17; ++from) {
    for (size_t size = 0; from + size <= text.size(); size += 1 + size / 3) {
      const absl::string_view part = absl::string_view(text).substr(from, size);
      ASSERT_EQ(Crc32c(part), Slow(part)) << from << " " << size;
    }
  }
}

TEST(Crc32cTest, GoesOnFromWhatCameBefore) {
  const std::string text = "the quick brown fox jumps over the lazy dog";
  for (size_t at = 0; at <= text.size(); ++at) {
    EXPECT_EQ(Crc32c(text.substr(at), Crc32c(text.substr(0, at))),
              Crc32c(text));
  }
}

TEST(Crc32cTest, MaskIsThatOfTheFormat) {
  const uint32_t crc = Crc32c("foo");
  EXPECT_EQ(MaskedCrc32c("foo"), ((crc >> 15) | (crc << 17)) + 0xa282ead8u);
  EXPECT_NE(MaskedCrc32c("foo"), crc);
}

}  // namespace
}  // namespace feedrate
