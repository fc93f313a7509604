#include "lib/analysis/aggregate/aggregate.h"

#include <atomic>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/analysis/aggregate/row_groups.h"
#include "lib/analysis/aggregate/testing_aggregates.h"
#include "lib/records/row.pb.h"
#include "lib/records/summary.pb.h"

namespace feedrate {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(AggregateTest, RunsBecomeStatistics) {
  std::vector<Row> rows;
  for (const double throughput : {100.0, 110.0, 90.0}) {
    rows.push_back(
        OkRow("a", "Blur", static_cast<int>(rows.size()), throughput));
  }
  const auto result = Aggregated(ByLibrary(), rows);
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->aggregates.size(), 1u);
  const Aggregate& a = result->aggregates[0];
  EXPECT_EQ(a.runs(), 3);
  EXPECT_EQ(a.median(), 100);
  EXPECT_EQ(a.mean(), 100);
  EXPECT_NEAR(a.sd(), 10, 1e-12);
  EXPECT_EQ(a.interval().method(), "log_t");
  EXPECT_THAT(a.flags(), ElementsAre("few_runs"));
  EXPECT_EQ(a.held().at("machine_profile"), "m1");
  EXPECT_FALSE(a.has_rank()) << "alone";
}

TEST(AggregateTest, OneOrTwoRunsHaveNoInterval) {
  const auto result = Aggregated(
      ByLibrary(), {OkRow("a", "Blur", 0, 100), OkRow("a", "Blur", 1, 200)});
  ASSERT_TRUE(result.ok());
  EXPECT_FALSE(result->aggregates[0].has_interval());
  EXPECT_FALSE(result->aggregates[0].has_rank());
  EXPECT_THAT(result->aggregates[0].flags(), ElementsAre("unstable"));
}

TEST(AggregateTest, AnyNumberAtAnyDepthHasStatistics) {
  std::vector<Row> rows;
  for (int run = 0; run < 4; ++run) {
    rows.push_back(OkRow("a", "Blur", run, 1000));
    if (run == 3) continue;
    rows.back().mutable_gpu_memory()->set_peak_allocated_bytes(100 + run);
    rows.back().mutable_loader()->mutable_gpu()->set_busy(0.25 * run);
  }
  AggregateOptions options = ByLibrary();
  options.metric = "gpu_memory.peak_allocated_bytes";
  auto result = Aggregated(options, rows);
  ASSERT_TRUE(result.ok()) << result.status();
  const Aggregate& memory = result->aggregates[0];
  EXPECT_EQ(memory.median(), 101);
  EXPECT_EQ(memory.runs(), 3);
  EXPECT_EQ(memory.unit(), "bytes");
  ASSERT_EQ(memory.ended_size(), 1);
  EXPECT_EQ(memory.ended(0).reason(), "no gpu_memory.peak_allocated_bytes");
  // The same from a file, with a group at the same depth.
  const std::string file = WriteFile("deep.jsonl", Text(rows));
  options.metric = "loader.gpu.busy";
  options.by = {"loader.gpu.busy"};
  result = RunFiles(options, {file}, nullptr);
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->aggregates.size(), 4u);
  EXPECT_EQ(result->aggregates[1].by().at("loader.gpu.busy"), "0");
  EXPECT_EQ(result->aggregates[2].median(), 0.25);
  EXPECT_EQ(result->aggregates[2].unit(), "of 1");
  options.metric = "loader.gpu_use";
  EXPECT_THAT(
      std::string(RowAggregator::Create(options).status().message()),
      HasSubstr("--metric: unknown field \"loader.gpu_use\"; did you "));
  options.metric = "library";
  EXPECT_THAT(std::string(RowAggregator::Create(options).status().message()),
              HasSubstr("is not a number"));
}

TEST(AggregateTest, LatenciesArePooled) {
  Row one = OkRow("a", "Blur", 0, 100);
  for (int i = 0; i < 7; ++i) one.add_samples_s(1);
  Row two = OkRow("a", "Blur", 1, 100);
  for (int i = 0; i < 3; ++i) two.add_samples_s(101);
  auto result = Aggregated(ByLibrary(), {one, two});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->aggregates[0].p50_s(), 1);
  EXPECT_EQ(result->aggregates[0].p99_s(), 101);
  two.clear_samples_s();
  result = Aggregated(ByLibrary(), {one, two});
  EXPECT_FALSE(result->aggregates[0].has_p50_s());
}

TEST(AggregateTest, OptionsAreChecked) {
  AggregateOptions options;
  options.by = {"librray"};
  EXPECT_THAT(std::string(RowAggregator::Create(options).status().message()),
              HasSubstr("--by: unknown field \"librray\"; did you mean"));
  options.by = {"library", "library"};
  EXPECT_THAT(std::string(RowAggregator::Create(options).status().message()),
              HasSubstr("twice"));
  options.by = {"transform"};
  options.mix = {"machine"};
  EXPECT_THAT(std::string(RowAggregator::Create(options).status().message()),
              HasSubstr("--mix: \"machine\""));
  options.mix = {};
  options.relative_to = "a";
  EXPECT_THAT(std::string(RowAggregator::Create(options).status().message()),
              HasSubstr("add library to --by"));
}

// Which rows count, and which may be in one group.

TEST(AggregateChoiceTest, TheCleanestAttemptCountsAndIsNamed) {
  std::vector<Row> rows = {OkRow("a", "Blur", 0, 100),
                           OkRow("a", "Blur", 0, 50),
                           OkRow("a", "Blur", 0, 70)};
  rows[1].set_attempt(1);
  rows[1].add_warnings("noisy");
  rows[2].set_attempt(2);
  rows[2].add_warnings("contended");
  const auto result = Aggregated(ByLibrary(), rows);
  ASSERT_TRUE(result.ok());
  const Aggregate& a = result->aggregates[0];
  EXPECT_EQ(a.median(), 100);
  EXPECT_EQ(a.disturbed(), 0);
  EXPECT_EQ(a.retries(), 2);
  ASSERT_EQ(a.earlier_attempts_size(), 1);
  EXPECT_EQ(a.earlier_attempts(0).attempt(), 0);
  EXPECT_EQ(a.earlier_attempts(0).last(), 2);
  EXPECT_EQ(a.earlier_attempts(0).runs(), 1);
}

TEST(AggregateChoiceTest, TheLastAttemptCountsAndTheOthersAreCounted) {
  Row failed = OkRow("a", "Blur", 0, 0);
  failed.set_status("crashed");
  failed.set_reason("signal 11");
  Row again = OkRow("a", "Blur", 0, 100);
  again.set_attempt(1);
  AggregateOptions options = ByLibrary();
  // Nothing is left even if the filter matches only the failure.
  for (const bool swapped : {false, true}) {
    std::vector<Row> rows = {failed, again};
    if (swapped) std::swap(rows[0], rows[1]);
    options.where = "";
    auto result = Aggregated(options, rows);
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(result->aggregates[0].runs(), 1);
    EXPECT_EQ(result->aggregates[0].retries(), 1);
    EXPECT_EQ(result->aggregates[0].ended_size(), 0);
    for (const char* where :
         {"status == \"crashed\"", "throughput == 0 && attempt == 0"}) {
      options.where = where;
      result = Aggregated(options, rows);
      ASSERT_TRUE(result.ok());
      EXPECT_TRUE(result->aggregates.empty()) << where;
    }
  }
}

TEST(AggregateChoiceTest, TheSameRowTwiceCountsOnce) {
  const std::vector<Row> rows = {OkRow("a", "Blur", 0, 100),
                                 OkRow("a", "Blur", 0, 100),
                                 OkRow("a", "Blur", 1, 120)};
  const auto result = Aggregated(ByLibrary(), rows);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->aggregates[0].runs(), 2);
  EXPECT_EQ(result->duplicates, 1);
  EXPECT_EQ(result->aggregates[0].retries(), 0);
}

// Each start of a runner writes one.
TEST(AggregateChoiceTest, NullRowsMayRepeat) {
  const std::vector<Row> rows = {OkRow("null", "Nothing", 0, 100),
                                 OkRow("null", "Nothing", 0, 101),
                                 OkRow("a", "Blur", 0, 120)};
  const auto result = Aggregated(ByLibrary(), rows);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->duplicates, 0);
}

TEST(AggregateChoiceTest, OfEqualAttemptsTheOneMeasuredLastCounts) {
  Row early = OkRow("a", "Blur", 0, 100);
  early.set_started_at("2026-11-15T02:57:46Z");
  Row late = OkRow("a", "Blur", 0, 200);
  late.set_started_at("2026-11-15T02:59:00Z");
  for (const auto& rows : {std::vector<Row>{early, late}, {late, early}}) {
    const auto result = Aggregated(ByLibrary(), rows);
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(result->aggregates[0].median(), 200);
  }
}

TEST(AggregateChoiceTest, TheSameRunOnAnotherMachineIsAnotherRun) {
  Row other = OkRow("a", "Blur", 0, 50);
  other.set_machine_profile("m2");
  AggregateOptions options = ByLibrary();
  options.by.push_back("machine_profile");
  const auto result = Aggregated(options, {OkRow("a", "Blur", 0, 100), other});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->aggregates.size(), 2u);
}

TEST(AggregateChoiceTest, WhatEndedOtherwiseIsKeptAndNeverAveraged) {
  std::vector<Row> rows = {OkRow("a", "Blur", 0, 100)};
  rows.push_back(OkRow("a", "Blur", 1, 7));
  rows.back().set_status("oom");
  rows.back().set_reason("2 GB");
  rows.push_back(OkRow("b", "Blur", 0, 3));
  rows.back().set_status("early_stopped");
  rows.back().set_reason("0.3 s per image");
  rows.back().set_slow_threshold_s(0.25);
  rows.push_back(OkRow("b", "Blur", 1, 3));
  rows.back().set_status("early_stopped");
  rows.back().set_slow_threshold_s(0.05);
  rows.push_back(OkRow("c", "Blur", 0, 0));
  rows.back().set_status("unsupported");
  // It never ran, so it does not know its version.
  rows.back().clear_library_version();
  AggregateOptions options = ByLibrary();
  options.slow_marker = [](const std::string& scenario, const std::string& unit,
                           double slow_from_s) {
    return absl::StrCat("<=", scenario, " ", unit, " ", slow_from_s);
  };
  const auto result = Aggregated(options, rows);
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->aggregates.size(), 3u);
  const Aggregate& a = result->aggregates[0];
  EXPECT_EQ(a.median(), 100);
  EXPECT_EQ(a.ended(0).status(), "oom");
  EXPECT_EQ(a.ended(0).reason(), "2 GB");
  EXPECT_THAT(a.flags(), ElementsAre("incomplete"));
  EXPECT_EQ(result->aggregates[1].status(), "early_stopped");
  EXPECT_EQ(result->aggregates[1].slow_marker(), "<=image-rgb image 0.05");
  EXPECT_FALSE(result->aggregates[1].has_median());
  EXPECT_EQ(result->aggregates[2].status(), "unsupported");
}

TEST(AggregateChoiceTest, ACrashBeforeTheVersionWasKnownIsRetried) {
  Row crashed = OkRow("kornia", "Blur", 0, 0);
  crashed.set_status("crashed");
  crashed.clear_library_version();
  Row retried = OkRow("kornia", "Blur", 0, 100);
  retried.set_library_version("0.8");
  retried.set_attempt(1);
  const auto result = Aggregated(ByLibrary(), {crashed, retried});
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->aggregates.size(), 1u);
  EXPECT_EQ(result->aggregates[0].retries(), 1);
  EXPECT_EQ(result->aggregates[0].ended_size(), 0);
  EXPECT_EQ(result->aggregates[0].median(), 100);
}

// A duel restarts its commands for each pair, so run_index repeats.
TEST(AggregateChoiceTest, PairsOfADuelAreRunsOfTheirOwn) {
  std::vector<Row> rows;
  for (int pair = 0; pair < 4; ++pair) {
    for (const char* side : {"a", "b"}) {
      Row row = OkRow("kornia", "Blur", 0, 100 + pair);
      row.mutable_pair()->set_index(pair);
      row.mutable_pair()->set_side(side);
      rows.push_back(std::move(row));
    }
  }
  AggregateOptions options = ByLibrary();
  options.by.push_back("pair.side");
  const auto result = Aggregated(options, rows);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->duplicates, 0);
  ASSERT_EQ(result->aggregates.size(), 2u);
  EXPECT_EQ(result->aggregates[0].runs(), 4);
}

TEST(AggregateChoiceTest, RefusesToMix) {
  const std::vector<std::pair<std::string, std::function<void(Row*)>>> cases = {
      {"machine_profile", [](Row* row) { row->set_machine_profile("m2"); }},
      {"usable_cpus", [](Row* row) { row->set_usable_cpus(1); }},
      {"batch_size", [](Row* row) { row->set_batch_size(7); }},
      {"params_profile", [](Row* row) { row->set_params_profile("matched"); }},
      {"cold", [](Row* row) { row->add_labels("cold"); }},
      {"exploratory", [](Row* row) { row->add_labels("exploratory"); }},
      {"library_version", [](Row* row) { row->set_library_version("2"); }},
      {"dataset.id", [](Row* row) { row->mutable_dataset()->set_id("x"); }},
      {"dataset.sha256",
       [](Row* row) { row->mutable_dataset()->set_sha256("ab"); }},
      {"pair.side", [](Row* row) { row->mutable_pair()->set_side("b"); }},
      {"pair.contest",
       [](Row* row) { row->mutable_pair()->set_contest("n=2"); }},
      {"workers", [](Row* row) { row->set_workers(2); }},
      {"thread_policy", [](Row* row) { row->set_thread_policy("all"); }},
      {"scope", [](Row* row) { row->set_scope("other"); }},
      {"device", [](Row* row) { row->set_device("cuda"); }},
      {"settings",
       [](Row* row) { (*row->mutable_settings())["prefetch"] = "2"; }},
  };
  for (const auto& [field, change] : cases) {
    Row other = OkRow("a", "Blur", 1, 50);
    change(&other);
    const std::vector<Row> rows = {OkRow("a", "Blur", 0, 100), other};
    AggregateOptions options = ByLibrary();
    const auto refused = Aggregated(options, rows);
    ASSERT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition)
        << field;
    EXPECT_THAT(std::string(refused.status().message()),
                HasSubstr(absl::StrCat("library=a transform=Blur would mix ",
                                       field, " ")));
    EXPECT_THAT(std::string(refused.status().message()),
                HasSubstr(absl::StrCat("--mix=", field)));
    options.mix = {field};
    auto mixed = Aggregated(options, rows);
    ASSERT_TRUE(mixed.ok()) << mixed.status();
    EXPECT_EQ(mixed->aggregates[0].runs(), 2) << field;
    EXPECT_EQ(mixed->aggregates[0].pooled().at(field), 2) << field;
    options.mix = {};
    options.by.push_back(field);
    mixed = Aggregated(options, rows);
    ASSERT_TRUE(mixed.ok()) << mixed.status();
    EXPECT_EQ(mixed->aggregates.size(), 2u) << field;
  }
}

TEST(AggregateChoiceTest, TransformsAreNotPooledUnasked) {
  std::vector<Row> rows;
  for (int run = 0; run < 3; ++run) {
    for (const char* library : {"a", "b"}) {
      const double factor = library[0] == 'a' ? 1 : 9;
      rows.push_back(OkRow(library, "Blur", run, 100 * factor));
      rows.push_back(OkRow(library, "Flip", run, 101 * factor));
    }
  }
  AggregateOptions options = ByLibrary();
  options.by = {"library"};
  EXPECT_THAT(std::string(Aggregated(options, rows).status().message()),
              HasSubstr("would mix transform \"Blur\" and \"Flip\""));
  options.mix = {"transform"};
  const auto pooled = Aggregated(options, rows);
  ASSERT_TRUE(pooled.ok());
  EXPECT_FALSE(pooled->aggregates[1].fastest()) << "pooled work has no winner";
  options.mix = {};
  options.split = true;
  const auto split = Aggregated(options, rows);
  ASSERT_TRUE(split.ok()) << split.status();
  EXPECT_THAT(split->by, ElementsAre("library", "transform"));
  EXPECT_EQ(split->aggregates.size(), 4u);
  EXPECT_TRUE(split->aggregates[3].fastest());
}

TEST(AggregateChoiceTest, OtherLabelsAreNoMix) {
  Row other = OkRow("a", "Blur", 1, 50);
  other.add_labels("per_sample_loop");
  const auto result =
      Aggregated(ByLibrary(), {OkRow("a", "Blur", 0, 100), other});
  ASSERT_TRUE(result.ok()) << result.status();
  // But the table says it.
  EXPECT_THAT(result->aggregates[0].flags(), Contains("per_sample_loop"));
}

TEST(ParallelTest, DoesEachThingOnce) {
  for (const size_t threads : {0u, 1u, 2u, 7u}) {
    for (const size_t count : {0u, 1u, 5u, 1000u}) {
      std::vector<std::atomic<int>> done(count);
      ForEachInParallel(threads, count, [&](size_t i) { ++done[i]; });
      for (const std::atomic<int>& times : done) EXPECT_EQ(times, 1);
    }
  }
}

}  // namespace
}  // namespace feedrate
