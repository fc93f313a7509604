#include "lib/model/worker/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <stdexcept>

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Written(const std::string& content) {
  const std::string path = testing::TempDir() + "/tokens.txt";
  std::ofstream(path) << content;
  return path;
}

std::string Mistake(const std::string& content) {
  try {
    Tokenizer::FromFile(Written(content));
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "";
}

TEST(TokenizerTest, BytesAreTheirOwnNumbers) {
  const Tokenizer bytes = Tokenizer::Bytes();
  EXPECT_EQ(bytes.size(), 256);
  EXPECT_THAT(bytes.Encode("a\xff"), ElementsAre(97, 255));
  EXPECT_EQ(bytes.Text(10), "\n");
}

TEST(TokenizerTest, TheLongestTokenWins) {
  const Tokenizer tokens =
      Tokenizer::FromFile(Written("a\nab\nb\nabcd\nc\n\\n\n\\x20\\\\\n"));
  EXPECT_THAT(tokens.Encode("abcdabc\n"), ElementsAre(3, 1, 4, 5));
  EXPECT_THAT(tokens.Encode(" \\"), ElementsAre(6));
  EXPECT_EQ(tokens.Text(6), " \\");
}

TEST(TokenizerTest, WhatHasNoTokenIsNamed) {
  const Tokenizer tokens = Tokenizer::FromFile(Written("a\nbc\n"));
  EXPECT_THROW(tokens.Encode("ab"), std::runtime_error);
  EXPECT_THROW(tokens.Text(2), std::runtime_error);
  EXPECT_THROW(tokens.Text(-1), std::runtime_error);
}

TEST(TokenizerTest, MistakesHaveTheirPlace) {
  EXPECT_THAT(Mistake(std::string(1025, 'a')), HasSubstr("longer than 1024"));
  EXPECT_THAT(Mistake("a\n\nb\n"), HasSubstr("tokens.txt:2: is empty"));
  EXPECT_THAT(Mistake("a\nb\na\n"), HasSubstr("tokens.txt:3: is there twice"));
  EXPECT_THAT(Mistake("a\\q\n"), HasSubstr("tokens.txt:1: has an escape"));
  EXPECT_THAT(Mistake("\\x4\n"), HasSubstr("tokens.txt:1: has an escape"));
  EXPECT_THAT(Mistake(""), HasSubstr("has no tokens"));
}

}  // namespace
}  // namespace feedrate
