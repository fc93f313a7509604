#include "lib/adapters/worker/time_epoch.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

// Delivers batches of the sizes it is given.
class ListStream : public BatchStream {
 public:
  explicit ListStream(std::vector<int64_t> sizes) : sizes_(std::move(sizes)) {}

  absl::StatusOr<Batch> Next() override {
    if (at_ == sizes_.size()) return Batch();
    const int64_t items = sizes_[at_++];
    if (items < 0) return absl::DataLossError("a.jpg: no image");
    return Batch{items, items * 10};
  }
  absl::Status Finish(EpochReply* reply) override {
    reply->errors_total = 3;
    return absl::OkStatus();
  }

 private:
  const std::vector<int64_t> sizes_;
  size_t at_ = 0;
};

StartEpoch Deliver(const std::vector<int64_t>& sizes) {
  return [sizes] { return std::make_unique<ListStream>(sizes); };
}

TEST(TimeEpochTest, CountsWhatWasDelivered) {
  EpochCommand command;
  command.count = 7;
  const auto reply = TimeEpoch(command, Deliver({3, 3, 1}));
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->items, 7);
  EXPECT_EQ(reply->batches, 3);
  EXPECT_EQ(reply->bytes_out, 70);
  EXPECT_EQ(reply->errors_total, 3);
  ASSERT_EQ(reply->samples_s.size(), 3);
  EXPECT_GE(reply->elapsed_s, reply->samples_s[0] + reply->samples_s[1]);
  EXPECT_GE(reply->first_batch_s, reply->startup_s);
  EXPECT_EQ(reply->consumer_s, 0);
}

TEST(TimeEpochTest, TheStepIsPlayedAfterEachBatch) {
  EpochCommand command;
  // So long that a machine that is busy otherwise does not hide it.
  command.consumer_s = 0.2;
  const auto reply = TimeEpoch(command, Deliver({1, 1}));
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_GE(reply->consumer_s, 0.4);
  EXPECT_GE(reply->elapsed_s, reply->consumer_s);
  EXPECT_LT(reply->samples_s[1], reply->consumer_s)
      << "the step is no part of a batch's time";
}

TEST(TimeEpochTest, StopsAtTheLimit) {
  EpochCommand command;
  command.limit_s = 1e-9;
  const auto reply = TimeEpoch(command, Deliver({1, 1, 1}));
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->batches, 1);
}

TEST(TimeEpochTest, StartingIsPartOfTheEpochAndOfTheFirstBatch) {
  const auto reply = TimeEpoch({}, [] {
    absl::SleepFor(absl::Milliseconds(20));
    return std::make_unique<ListStream>(std::vector<int64_t>{1});
  });
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_GE(reply->startup_s, 0.02);
  EXPECT_GE(reply->samples_s[0], 0.02);
  EXPECT_GE(reply->elapsed_s, 0.02);
}

TEST(TimeEpochTest, WhatGoesWrongIsToldAsItIs) {
  const auto reply = TimeEpoch({}, Deliver({1, -1}));
  EXPECT_EQ(reply.status().message(), "a.jpg: no image");
  const auto none =
      TimeEpoch({}, []() -> absl::StatusOr<std::unique_ptr<BatchStream>> {
        return absl::NotFoundError("no folder");
      });
  EXPECT_EQ(none.status().message(), "no folder");
}

}  // namespace
}  // namespace feedrate
