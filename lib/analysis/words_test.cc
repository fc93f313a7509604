#include "lib/analysis/words.h"

#include <random>
#include <set>
#include <string>

#include "gtest/gtest.h"

namespace feedrate {
namespace {

constexpr size_t kBehind = 16;

// `size` random letters, and some more that must not matter.
std::string RandomText(size_t size, std::mt19937_64* random) {
  std::string text;
  for (size_t i = 0; i < size + kBehind; ++i) {
    text += static_cast<char>('a' + (*random)() % 26);
  }
  return text;
}

TEST(WordsTest, ComparisonsLookAtEveryByteAndNoOther) {
  std::mt19937_64 random(1);
  for (size_t size = 0; size < 200; ++size) {
    const std::string text = RandomText(size, &random);
    std::string other = text;
    other[size] ^= 1;
    EXPECT_TRUE(SameBytes(text.data(), other.data(), size)) << size;
    EXPECT_TRUE(SameLong(text.data(), other.data(), size)) << size;
    for (size_t i = 0; i < size; ++i) {
      other = text;
      other[i] ^= 1;
      EXPECT_FALSE(SameBytes(text.data(), other.data(), size)) << size;
      EXPECT_FALSE(SameLong(text.data(), other.data(), size)) << size;
    }
  }
}

TEST(WordsTest, HashesLookAtEveryByteAndNoOther) {
  std::mt19937_64 random(2);
  for (size_t size = 0; size < 200; ++size) {
    const std::string text = RandomText(size, &random);
    std::string other = text;
    other[size] ^= 1;
    EXPECT_EQ(HashBytes(text.data(), size, 7),
              HashBytes(other.data(), size, 7));
    EXPECT_EQ(HashLong(text.data(), size), HashLong(other.data(), size));
    for (size_t i = 0; i < size; ++i) {
      other = text;
      other[i] ^= 1;
      EXPECT_NE(HashBytes(text.data(), size, 7),
                HashBytes(other.data(), size, 7));
      EXPECT_NE(HashLong(text.data(), size), HashLong(other.data(), size));
    }
  }
}

TEST(WordsTest, HashesOfLikeTextsSpreadOverLowAndHighBits) {
  std::set<uint64_t> low;
  std::set<uint64_t> high;
  for (int i = 0; i < 4096; ++i) {
    std::string text = std::string(60, 'x') + std::to_string(10000 + i);
    text.append(kBehind, '\0');
    const uint64_t hash = HashLong(text.data(), 65);
    low.insert(hash & 4095);
    high.insert(hash >> 52);
  }
  // 4096 balls in as many bins fill 63% of them.
  EXPECT_GT(low.size(), 2400u);
  EXPECT_GT(high.size(), 2400u);
}

TEST(WordsTest, PlainStringsEndAtTheirQuote) {
  for (size_t size = 0; size < 70; ++size) {
    const std::string text =
        std::string(size, 'a') + "\"\n" + std::string(32, '\0');
    EXPECT_EQ(PlainStringEnd(text.data()), text.data() + size + 1) << size;
  }
}

TEST(WordsTest, StringsThatNeedACloserLookHaveNoPlainEnd) {
  for (const char* odd :
       {"a\\\"b\"", "a\x01\"", "\xC3\xA9\"", "never closed\n"}) {
    const std::string text = std::string(odd) + "\n" + std::string(32, '\0');
    EXPECT_EQ(PlainStringEnd(text.data()), nullptr) << odd;
  }
}

}  // namespace
}  // namespace feedrate
