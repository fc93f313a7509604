#include "lib/runner/mixture/mixture_row.h"

#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/records/records.pb.h"
#include "lib/runner/mixture/mixture_settings.h"
#include "lib/worker/loader_message.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<MixtureSource>& Sources() {
  static const auto& sources =
      *new std::vector<MixtureSource>{{"a", 2, {}}, {"b", 1, {}}, {"c", 1, {}}};
  return sources;
}

// One batch of warm-up, four that count.
EpochReply SomeReply() {
  EpochReply reply;
  reply.batches = 5;
  reply.items = 20;
  reply.startup_s = 0.5;
  reply.first_batch_s = 1;
  reply.times_s = {1, 1.5, 2.5, 3, 5};
  reply.samples_s = {1, 0.25, 0.75, 0.125, 2};
  reply.counts = {{0, 4}, {0, 2, 1, 2}, {1, 4}, {2, 3, 0, 1}, {2, 4}};
  return reply;
}

MixtureSettingsOfJob SomeSettings() {
  MixtureSettingsOfJob settings;
  settings.steps = 4;
  settings.warmup = 1;
  settings.spec.batch_size = 4;
  return settings;
}

TEST(MixtureRowTest, BatchesSayWhatTheyHold) {
  const std::vector<Batch> batches = BatchesOf(SomeReply(), Sources(), 1);
  ASSERT_EQ(batches.size(), 5);
  EXPECT_TRUE(batches[0].warmup());
  EXPECT_FALSE(batches[1].warmup());
  EXPECT_EQ(batches[1].items(), 4);
  EXPECT_EQ(batches[1].time_s(), 1.5);
  EXPECT_EQ(batches[1].wait_s(), 0.25);
  EXPECT_EQ(batches[1].dominant(), "a") << "of equals the earlier one";
  EXPECT_THAT(batches[1].first_seen(), ElementsAre("b"));
  EXPECT_THAT(batches[2].first_seen(), IsEmpty());
  // In the order of the mixture, however they were counted.
  ASSERT_EQ(batches[3].counts_size(), 2);
  EXPECT_EQ(batches[3].counts(0).dataset(), "a");
  EXPECT_EQ(batches[3].counts(1).samples(), 3);
  EXPECT_EQ(batches[3].dominant(), "c");
}

TEST(MixtureRowTest, NumbersAreOverMeasuredBatches) {
  const EpochReply reply = SomeReply();
  Row row;
  SetMixture(reply, BatchesOf(reply, Sources(), 1), Sources(), SomeSettings(),
             &row);
  EXPECT_EQ(row.status(), "ok");
  EXPECT_EQ(row.unit(), "sample");
  EXPECT_EQ(row.items(), 16);
  EXPECT_EQ(row.elapsed_s(), 4);
  EXPECT_EQ(row.throughput(), 4);
  EXPECT_THAT(row.samples_s(), ElementsAre(0.5, 1, 0.5, 2));
  EXPECT_THAT(row.labels(), ElementsAre("indicative"));
  const Mixture& mixture = row.mixture();
  EXPECT_EQ(mixture.batches(), 4);
  EXPECT_EQ(mixture.warmup_batches(), 1);
  EXPECT_EQ(mixture.batches_per_s(), 1);
  EXPECT_EQ(mixture.first_batch_s(), 1);
  EXPECT_EQ(mixture.unique_dominant(), 3);
  // a, b, c, c.
  EXPECT_DOUBLE_EQ(mixture.dominant_switch_rate(), 2.0 / 3);
  // 3, 6 and 7 of 16, against 8, 4 and 4.
  EXPECT_DOUBLE_EQ(mixture.mixture_error(), 5.0 / 16);
  ASSERT_EQ(mixture.shares_size(), 3);
  EXPECT_DOUBLE_EQ(mixture.shares(0).weight_share(), 0.5);
  EXPECT_DOUBLE_EQ(mixture.shares(1).sample_share(), 6.0 / 16);
  EXPECT_EQ(mixture.shares(2).stall_s(), 2.125);
  EXPECT_EQ(mixture.shares(2).dominated(), 2);
}

TEST(MixtureRowTest, WithoutWarmUpTheStartCounts) {
  const EpochReply reply = SomeReply();
  MixtureSettingsOfJob settings = SomeSettings();
  settings.warmup = 0;
  settings.steps = 5;
  Row row;
  SetMixture(reply, BatchesOf(reply, Sources(), 0), Sources(), settings, &row);
  EXPECT_EQ(row.elapsed_s(), 5);
  EXPECT_EQ(row.items(), 20);
}

TEST(MixtureRowTest, WhatWasLeftOutHasNoShare) {
  EpochReply reply = SomeReply();
  reply.counts = {{0, 4}, {0, 4}, {1, 4}, {0, 4}, {0, 4}};
  reply.left_out = {"c"};
  reply.errors_total = 1;
  reply.errors = {{2, "c", "has no episode"}};
  Row row;
  SetMixture(reply, BatchesOf(reply, Sources(), 1), Sources(), SomeSettings(),
             &row);
  EXPECT_EQ(row.mixture().datasets(), 2);
  EXPECT_DOUBLE_EQ(row.mixture().shares(1).weight_share(), 1.0 / 3);
  EXPECT_THAT(MixtureText(row), HasSubstr("left out: c"));
  EXPECT_THAT(MixtureText(row),
              HasSubstr("1 skipped over all passes, the first: c: has no"));
}

TEST(MixtureRowTest, LongRunsAreMoreThanAnIndication) {
  EpochReply reply;
  for (int i = 0; i < 168; ++i) {
    reply.times_s.push_back(i + 1);
    reply.samples_s.push_back(1);
    reply.counts.push_back({0, 1});
  }
  MixtureSettingsOfJob settings;
  settings.steps = 160;
  settings.warmup = 8;
  Row row;
  SetMixture(reply, BatchesOf(reply, Sources(), 8), Sources(), settings, &row);
  EXPECT_THAT(row.labels(), IsEmpty());
  EXPECT_EQ(row.mixture().dominant_switch_rate(), 0);
  EXPECT_DOUBLE_EQ(row.mixture().mixture_error(), 0.5);
}

TEST(MixtureRowTest, CountsThatCannotBeAreRefused) {
  EpochReply reply = SomeReply();
  EXPECT_TRUE(CheckCounts(reply, 3).ok());
  EXPECT_EQ(CheckCounts(reply, 2).code(), absl::StatusCode::kDataLoss);
  reply.items = 19;
  EXPECT_EQ(CheckCounts(reply, 3).code(), absl::StatusCode::kDataLoss);
  reply = SomeReply();
  reply.counts[2].clear();
  EXPECT_EQ(CheckCounts(reply, 3).code(), absl::StatusCode::kDataLoss);
}

TEST(MixtureRowTest, AKilledTeardownIsTold) {
  Row row;
  row.set_library("native");
  row.mutable_mixture()->set_teardown_killed(true);
  row.mutable_mixture()->set_teardown_s(10);
  EXPECT_THAT(MixtureText(row), HasSubstr("within 10 s and was killed"));
  EXPECT_EQ(MixtureText(Row()), "");
}

TEST(MixtureRowTest, WhatWasSkippedIsToldOnceWithItsPlace) {
  Row row;
  row.set_library("native");
  Mixture* const mixture = row.mutable_mixture();
  mixture->set_skipped(2);
  LoaderFault* const fault = mixture->add_faults();
  fault->set_path("a.tfrecord");
  fault->set_reason("record 3: cut off");
  EXPECT_EQ(MixtureText(row),
            "native, run 0: 2 skipped over all passes, the first: "
            "a.tfrecord: record 3: cut off\n");
  fault->set_reason("a.tfrecord: record 3: cut off");
  EXPECT_THAT(MixtureText(row),
              HasSubstr("the first: a.tfrecord: record 3: cut off\n"));
}

TEST(MixtureRowTest, WhyARunFailedIsTold) {
  Row row;
  row.set_library("native");
  row.set_run_index(1);
  row.set_status("failed");
  row.set_reason("data set \"x\": has no episode");
  EXPECT_EQ(MixtureText(row),
            "native, run 1: failed: data set \"x\": has no episode\n");
}

}  // namespace
}  // namespace feedrate
