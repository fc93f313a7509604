#include "lib/worker/last_words.h"

#include <fcntl.h>
#include <unistd.h>

#include <string>

#include "gtest/gtest.h"
#include "lib/base/unique_fd.h"

namespace feedrate {
namespace {

class LastWordsTest : public testing::Test {
 protected:
  LastWordsTest() : words_(Open()) {}

  UniqueFd Open() {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    write_end_.Reset(ends[1]);
    return UniqueFd(ends[0]);
  }

  void Say(const std::string& text) {
    ASSERT_EQ(write(write_end_.get(), text.data(), text.size()), text.size());
    words_.Drain();
  }

  UniqueFd write_end_;
  LastWords words_;
};

TEST_F(LastWordsTest, NothingSaidIsEmpty) {
  words_.Drain();
  EXPECT_EQ(words_.Text(), "");
}

TEST_F(LastWordsTest, KeepsTheLastFiveLines) {
  for (int i = 0; i < 9; ++i) Say("line " + std::to_string(i) + "\n\n");
  Say("no newline");
  EXPECT_EQ(words_.Text(), "line 5 | line 6 | line 7 | line 8 | no newline");
}

TEST_F(LastWordsTest, AFloodIsCutInFront) {
  for (int i = 0; i < 1000; ++i) Say(std::string(1000, 'x'));
  Say("the end");
  const std::string text = words_.Text();
  EXPECT_LT(text.size(), 700);
  EXPECT_EQ(text.substr(text.size() - 7), "the end");
}

}  // namespace
}  // namespace feedrate
