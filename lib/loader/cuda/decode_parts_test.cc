#include "lib/loader/cuda/decode_parts.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Decodes at most `most` files at a time, and no bad one.
class Engine {
 public:
  Engine(int most, std::set<int> bad) : most_(most), bad_(std::move(bad)) {}

  absl::Status Decode(int first, int count) {
    ++calls_;
    if (count > most_) return absl::ResourceExhaustedError("too much");
    for (int i = first; i < first + count; ++i) {
      if (bad_.count(i) > 0) return absl::DataLossError("one is broken");
    }
    for (int i = first; i < first + count; ++i) decoded_.push_back(i);
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<int>> Run(int count) {
    return DecodeInParts(
        count, [this](int first, int size) { return Decode(first, size); });
  }

  int calls() const { return calls_; }
  const std::vector<int>& decoded() const { return decoded_; }

 private:
  const int most_;
  const std::set<int> bad_;
  int calls_ = 0;
  std::vector<int> decoded_;
};

TEST(DecodePartsTest, GoodBatchesAreOneCall) {
  Engine engine(64, {});
  EXPECT_THAT(*engine.Run(5), IsEmpty());
  EXPECT_EQ(engine.calls(), 1);
  EXPECT_THAT(*engine.Run(0), IsEmpty());
  EXPECT_EQ(engine.calls(), 1);
}

TEST(DecodePartsTest, WhatIsTooMuchIsDoneInHalves) {
  Engine engine(3, {});
  EXPECT_THAT(*engine.Run(10), IsEmpty());
  EXPECT_THAT(engine.decoded(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
}

TEST(DecodePartsTest, ABrokenFileIsFound) {
  Engine engine(64, {5, 11});
  EXPECT_THAT(*engine.Run(16), ElementsAre(5, 11));
  EXPECT_EQ(engine.decoded().size(), 14u);
  // Not one call for each file.
  EXPECT_LE(engine.calls(), 15);
}

TEST(DecodePartsTest, NoMemoryAtAllIsRefusedFileByFile) {
  Engine engine(0, {});
  EXPECT_THAT(*engine.Run(3), ElementsAre(0, 1, 2));
}

TEST(DecodePartsTest, OtherErrorsEndIt) {
  int calls = 0;
  const auto refused = DecodeInParts(8, [&](int, int) {
    ++calls;
    return absl::InternalError("the device is gone");
  });
  EXPECT_EQ(std::string(refused.status().message()), "the device is gone");
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace feedrate
