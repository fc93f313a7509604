#include "lib/hash/md5.h"

#include <algorithm>
#include <string>

#include "gtest/gtest.h"

namespace feedrate {
namespace {

std::string Hex(Md5 hash) {
  uint8_t digest[Md5::kDigestSize];
  hash.Finish(digest);
  std::string hex;
  for (const uint8_t byte : digest) {
    hex += "0123456789abcdef"[byte >> 4];
    hex += "0123456789abcdef"[byte & 15];
  }
  return hex;
}

std::string HexOf(const std::string& message) {
  Md5 hash;
  hash.Update(message.data(), message.size());
  return Hex(hash);
}

// The suite of RFC 1321.
TEST(Md5Test, MatchesTheStandard) {
  EXPECT_EQ(HexOf(""), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(HexOf("a"), "0cc175b9c0f1b6a831c399e269772661");
  EXPECT_EQ(HexOf("abc"), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(HexOf("message digest"), "f96b697d7cb7938d525a2f31aaf161d0");
  EXPECT_EQ(HexOf("abcdefghijklmnopqrstuvwxyz"),
            "c3fcd3d76192e4007dfb496cca67e13b");
  EXPECT_EQ(
      HexOf("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"),
      "d174ab98d277d9f5a5611c2c9f419d9f");
  EXPECT_EQ(HexOf("123456789012345678901234567890123456789012345678901234567890"
                  "12345678901234567890"),
            "57edf4a22be3c955ac49da2e2107b67a");
}

TEST(Md5Test, HowItIsCutMakesNoDifference) {
  std::string message;
  for (int i = 0; i < 300; ++i) message += static_cast<char>(i * 7);
  for (size_t size = 0; size <= message.size(); ++size) {
    const std::string expected = HexOf(message.substr(0, size));
    for (const size_t piece : {1, 5, 63, 64, 65, 130}) {
      Md5 hash;
      for (size_t at = 0; at < size; at += piece) {
        hash.Update(message.data() + at, std::min(piece, size - at));
      }
      ASSERT_EQ(Hex(hash), expected) << size << " in pieces of " << piece;
    }
  }
}

}  // namespace
}  // namespace feedrate
