#include "lib/analysis/line_blocks.h"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

constexpr size_t kPadding = 64;

std::string Path(const std::string& name) {
  return absl::StrCat(::testing::TempDir(), "/", name);
}

void Write(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

// Lines with their input, from three threads.
std::vector<std::string> Lines(LineBlocks* blocks) {
  std::vector<std::string> lines;
  std::mutex mutex;
  const auto work = [&] {
    LineBlock block;
    while (blocks->Next(&block)) {
      std::lock_guard<std::mutex> lock(mutex);
      std::string text(block.lines);
      if (!text.empty() && text.back() == '\n') text.pop_back();
      if (block.lines.empty()) continue;
      for (const auto& line : absl::StrSplit(text, '\n')) {
        lines.push_back(absl::StrCat(block.input, ":", line));
      }
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  std::sort(lines.begin(), lines.end());
  return lines;
}

TEST(LineBlocksTest, EveryLineOnce) {
  std::mt19937 random(1);
  std::string content;
  std::vector<std::string> expected;
  for (int i = 0; content.size() < 3 * LineBlocks::kBlock + 5000; ++i) {
    // A few lines longer than a block.
    const size_t length =
        i % 3000 == 2999 ? LineBlocks::kBlock * 3 / 2 : random() % 700;
    const std::string line = absl::StrCat(
        i, "-", std::string(length, static_cast<char>('a' + i % 26)));
    expected.push_back(absl::StrCat("0:", line));
    absl::StrAppend(&content, line, "\n");
  }
  // Lines that end exactly where blocks do.
  std::string exact(LineBlocks::kBlock - 1, 'x');
  exact += "\n";
  for (int i = 0; i < 2; ++i) {
    expected.push_back(absl::StrCat("1:", exact.substr(0, exact.size() - 1)));
  }
  expected.push_back("2:no newline");
  std::sort(expected.begin(), expected.end());
  const std::string a = Path("a"), b = Path("b"), c = Path("c"), d = Path("d");
  Write(a, content);
  Write(b, exact + exact);
  Write(c, "no newline");
  Write(d, "");
  auto blocks = LineBlocks::Open({a, b, c, d}, kPadding);
  ASSERT_TRUE(blocks.ok()) << blocks.status();
  EXPECT_EQ(blocks->bytes(),
            static_cast<int64_t>(content.size() + 2 * exact.size() + 10));
  EXPECT_EQ(Lines(&*blocks), expected);
  EXPECT_TRUE(blocks->status().ok());
}

TEST(LineBlocksTest, PipesAreReadInTurns) {
  const std::string path = Path("pipe");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::string content;
  std::vector<std::string> expected;
  for (int i = 0; i < 200000; ++i) {
    const std::string line = absl::StrCat("line ", i);
    absl::StrAppend(&content, line, "\n");
    expected.push_back(absl::StrCat("0:", line));
  }
  content += "the end";
  expected.push_back("0:the end");
  std::sort(expected.begin(), expected.end());
  std::thread writer([&] { Write(path, content); });
  auto blocks = LineBlocks::Open({path}, kPadding);
  ASSERT_TRUE(blocks.ok());
  EXPECT_TRUE(blocks->has_streams());
  EXPECT_EQ(Lines(&*blocks), expected);
  writer.join();
}

TEST(LineBlocksTest, AMissingFileIsNotFound) {
  EXPECT_EQ(LineBlocks::Open({Path("none")}, kPadding).status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace feedrate
