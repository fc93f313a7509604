#include "lib/hash/sha256.h"

#include <algorithm>
#include <vector>

#include "gtest/gtest.h"
#include "lib/hash/store_hashes.h"

namespace feedrate {
namespace {

struct Vector {
  std::string message;
  std::string hex;
};

// Examples of FIPS 180-4, and lengths around the limits of the padding (55, 56,
// 63, 64, 65, 119, 120 bytes) with digests from sha256sum.
const Vector kVectors[] = {
    {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    {std::string(55, 'x'),
     "d5e285683cd4efc02d021a5c62014694958901005d6f71e89e0989fac77e4072"},
    {std::string(56, 'x'),
     "04c26261370ee7541549d16dee320c723e3fd14671e66a099afe0a377c16888e"},
    {std::string(63, 'x'),
     "75220b47218278e656f2013bb8f0c455a25eaf01e86c64924e9d48d89776d6f2"},
    {std::string(64, 'x'),
     "7ce100971f64e7001e8fe5a51973ecdfe1ced42befe7ee8d5fd6219506b5393c"},
    {std::string(65, 'x'),
     "9537c5fdf120482f7d58d25e9ed583f52c02b4e304ea814db1633ad565aed7e9"},
    {std::string(119, 'x'),
     "000b48d4edf0fa7bee3c6236ecd2785baa5db4eeb8bb54341b029e0d9fa5fb0c"},
    {std::string(120, 'x'),
     "13f05a0b594787f5ecd315edc96141bd3243203d1b7d4f0836f37308b276ba98"},
};

TEST(Sha256Test, KnownDigests) {
  for (const Vector& v : kVectors) {
    EXPECT_EQ(Sha256Hex(v.message), v.hex) << v.message.size() << " bytes";
  }
}

TEST(Sha256Test, AMillionLettersA) {
  EXPECT_EQ(Sha256Hex(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256Test, NullWithSizeZeroIsTheEmptyMessage) {
  EXPECT_EQ(Sha256Hex(nullptr, 0), Sha256Hex(""));
}

std::string Message(size_t size) {
  std::string message(size, '\0');
  for (size_t i = 0; i < size; ++i) message[i] = static_cast<char>(i * 131 + 7);
  return message;
}

TEST(Sha256Test, PiecesGiveTheDigestOfTheWhole) {
  const std::string message = Message(300);
  const std::string whole = Sha256Hex(message);
  for (size_t piece = 1; piece <= message.size(); ++piece) {
    Sha256 hash;
    for (size_t at = 0; at < message.size(); at += piece) {
      hash.Update(message.data() + at, std::min(piece, message.size() - at));
    }
    char hex[Sha256::kHexSize + 1];
    hash.FinishHex(hex);
    EXPECT_EQ(hex, whole) << "pieces of " << piece;
  }
}

TEST(Sha256Test, HardwareAgreesWithPortableCode) {
  const Sha256BlocksFn hardware = Sha256BlocksHardware();
  if (hardware == nullptr) {
    GTEST_SKIP() << "this processor has no SHA instructions";
  }
  constexpr size_t kBlocks = 9;
  const std::string message = Message(kBlocks * Sha256::kBlockSize + 16);
  for (size_t offset = 0; offset < 16; ++offset) {
    const uint8_t* data =
        reinterpret_cast<const uint8_t*>(message.data()) + offset;
    std::vector<uint32_t> a = {1, 2, 3, 4, 5, 6, 7, 0xffffffff};
    std::vector<uint32_t> b = a;
    hardware(a.data(), data, kBlocks);
    Sha256BlocksPortable(b.data(), data, kBlocks);
    EXPECT_EQ(a, b) << "data at offset " << offset;
  }
}

std::string Hex(const std::string& bytes) {
  std::string hex;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    hex += "0123456789abcdef"[byte >> 4];
    hex += "0123456789abcdef"[byte & 15];
  }
  return hex;
}

std::string Hex(Md5 hash) {
  uint8_t digest[Md5::kDigestSize];
  hash.Finish(digest);
  return Hex(std::string(digest, digest + sizeof(digest)));
}

std::string HexOf(const std::string& message) {
  Md5 hash;
  hash.Update(message.data(), message.size());
  return Hex(hash);
}

// The test suite of RFC 1321.
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

// RFC 4231, cases 1, 2 and 6 (a key longer than a block).
TEST(HmacSha256Test, MatchesTheStandard) {
  EXPECT_EQ(Hex(HmacSha256(std::string(20, '\x0b'), "Hi There")),
            "b0344c61d8db38535ca8afceaf0bf12b"
            "881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(Hex(HmacSha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c7"
            "5a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(
      Hex(HmacSha256(std::string(131, '\xaa'),
                     "Test Using Larger Than Block-Size Key - Hash Key First")),
      "60e431591ee0b67f0d8a26aacbf5b77f"
      "8e0bc6213728c5140546040f0ee37f54");
}

}  // namespace
}  // namespace feedrate
