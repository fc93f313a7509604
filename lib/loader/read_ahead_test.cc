#include "lib/loader/read_ahead.h"

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/loader/file_source.h"
#include "lib/loader/shard_source.h"
#include "lib/loader/testing/test_files.h"
#include "lib/tar/builder.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

// File i holds i times the digit i modulo 10, so the first is empty; the last
// is not there.
std::unique_ptr<Source> Files(int count) {
  const std::string folder = NewTestFolder();
  std::vector<ListedFile> files;
  for (int i = 0; i < count; ++i) {
    files.push_back({WriteTestFile(folder, absl::StrCat(i, ".jpg"),
                                   std::string(i, '0' + i % 10)),
                     -1});
  }
  files.push_back({folder + "/none.jpg", 3});
  return ListSource(files);
}

class ReadAheadTest : public ::testing::TestWithParam<ReadMethod> {
 protected:
  std::unique_ptr<ReadAhead> Start(const Source& source, const ItemOrder& order,
                                   int depth) {
    ReadAheadOptions options;
    options.method = GetParam();
    options.threads = 3;
    options.depth = depth;
    auto reads = StartReadAhead(options, source, order);
    if (absl::IsUnimplemented(reads.status())) {
      unavailable_ = std::string(reads.status().message());
      return nullptr;
    }
    EXPECT_TRUE(reads.ok()) << reads.status();
    return *std::move(reads);
  }
  std::string unavailable_;
};

TEST_P(ReadAheadTest, GivesEveryItemToWhoTakesIt) {
  constexpr int kFiles = 60;
  const std::unique_ptr<Source> source = Files(kFiles);
  const ItemOrder order(3, 2 * kFiles, source->size(), true, 5, 0);
  for (const int depth : {1, 7}) {
    const auto reads = Start(*source, order, depth);
    if (reads == nullptr) GTEST_SKIP() << unavailable_;
    std::atomic<int64_t> next{0};
    std::atomic<int> missing{0};
    const auto work = [&] {
      ReadBuffer own;
      for (int64_t p; (p = next.fetch_add(1)) < order.count();) {
        const auto bytes = reads->Take(p, &own);
        const int64_t item = order.Item(p);
        if (item == kFiles) {
          EXPECT_THAT(std::string(bytes.status().message()),
                      HasSubstr("cannot open"));
          ++missing;
        } else {
          ASSERT_TRUE(bytes.ok()) << bytes.status();
          EXPECT_EQ(*bytes, std::string(item, '0' + item % 10));
        }
        reads->Release(p);
      }
    };
    std::thread other(work);
    work();
    other.join();
    reads->Stop();
    EXPECT_GT(missing, 0);
    EXPECT_GT(reads->times().busy_ns, 0);
  }
}

TEST_P(ReadAheadTest, ReadsFromShards) {
  const std::string shard = WriteTestFile(
      NewTestFolder(), "a.tar",
      tar::Builder().File("a.jpg", "first").File("b.jpg", "second").Finish());
  const auto source = ShardSource({shard});
  ASSERT_TRUE(source.ok()) << source.status();
  const ItemOrder order(0, 2, 2, false, 0, 0);
  const auto reads = Start(**source, order, 4);
  if (reads == nullptr) GTEST_SKIP() << unavailable_;
  ReadBuffer own;
  EXPECT_EQ(*reads->Take(0, &own), "first");
  EXPECT_EQ(*reads->Take(1, &own), "second");
}

TEST_P(ReadAheadTest, StopsWithReadsUnderWay) {
  const std::unique_ptr<Source> source = Files(50);
  const ItemOrder order(0, 51, 51, false, 0, 0);
  for (int taken = 0; taken < 5; ++taken) {
    const auto reads = Start(*source, order, 8);
    if (reads == nullptr) GTEST_SKIP() << unavailable_;
    ReadBuffer own;
    for (int64_t p = 0; p < taken; ++p) {
      EXPECT_TRUE(reads->Take(p, &own).ok());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, ReadAheadTest,
                         ::testing::Values(ReadMethod::kInline,
                                           ReadMethod::kThreads,
                                           ReadMethod::kIoUring,
                                           ReadMethod::kAuto));

}  // namespace
}  // namespace feedrate
