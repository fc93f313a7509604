#include "lib/tar/stage/sha256.h"

#include <gtest/gtest.h>

#include <iostream>

namespace feedrate::tar {
namespace {

std::string Digest(const Sha256Engine& engine, const std::string& text) {
  Sha256 sha(engine);
  sha.Update(text.data(), text.size());
  return sha.Finish();
}

// From FIPS 180-4 and NIST's examples.
TEST(Sha256, MatchesThePublishedDigests) {
  for (const Sha256Engine& engine : Sha256Engines()) {
    SCOPED_TRACE(engine.name);
    EXPECT_EQ(
        Digest(engine, ""),
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(
        Digest(engine, "abc"),
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(
        Digest(engine,
               "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    EXPECT_EQ(
        Digest(engine, std::string(1000000, 'a')),
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  }
}

TEST(Sha256, EnginesAgreeOnEveryLength) {
  if (Sha256Engines().size() == 1) {
    GTEST_SKIP() << "this processor has no SHA instructions";
  }
  std::string text;
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(Digest(Sha256Engines().front(), text),
              Digest(Sha256Engines().back(), text))
        << i << " bytes";
    text.push_back(static_cast<char>(i * 37));
  }
}

TEST(Sha256, TakesBytesInAnyPieces) {
  const std::string text(5000, 'q');
  const std::string whole = Digest(Sha256Engines().front(), text);
  for (size_t piece : {1, 3, 63, 64, 65, 1000}) {
    Sha256 sha;
    for (size_t at = 0; at < text.size(); at += piece) {
      sha.Update(text.data() + at, std::min(piece, text.size() - at));
    }
    EXPECT_EQ(sha.Finish(), whole) << piece;
  }
}

TEST(IsSha256, TakesSixtyFourSmallHexDigits) {
  EXPECT_TRUE(IsSha256(std::string(64, 'a')));
  EXPECT_FALSE(IsSha256(std::string(63, 'a')));
  EXPECT_FALSE(IsSha256(std::string(64, 'A')));
  EXPECT_FALSE(IsSha256(std::string(64, 'g')));
}

}  // namespace
}  // namespace feedrate::tar
