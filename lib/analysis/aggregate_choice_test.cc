// Which rows count, and which may stand together.
#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/analysis/aggregate.h"
#include "lib/analysis/aggregate_testing.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(AggregateChoiceTest, TheLastAttemptCountsAndTheOthersAreCounted) {
  Row failed = OkRow("a", "Blur", 0, 0);
  failed.set_status("crashed");
  failed.set_reason("signal 11");
  Row again = OkRow("a", "Blur", 0, 100);
  again.set_attempt(1);
  AggregateOptions options = ByLibrary();
  // Also when the filter would let only the failure through, nothing is left.
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
  rows.back().set_reason("0.3 s an image");
  rows.push_back(OkRow("c", "Blur", 0, 0));
  rows.back().set_status("unsupported");
  // It never ran, so it does not know.
  rows.back().clear_library_version();
  AggregateOptions options = ByLibrary();
  options.slow_marker = [](const std::string& scenario,
                           const std::string& unit) {
    return absl::StrCat("<=", scenario, " ", unit);
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
  EXPECT_EQ(result->aggregates[1].slow_marker(), "<=image-rgb image");
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

// The commands of a duel start anew for each pair, so run_index repeats.
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
      {"batch_size", [](Row* row) { row->set_batch_size(7); }},
      {"params_profile", [](Row* row) { row->set_params_profile("matched"); }},
      {"cold", [](Row* row) { row->add_labels("cold"); }},
      {"exploratory", [](Row* row) { row->add_labels("exploratory"); }},
      {"library_version", [](Row* row) { row->set_library_version("2"); }},
      {"dataset.id", [](Row* row) { row->mutable_dataset()->set_id("x"); }},
      {"dataset.sha256",
       [](Row* row) { row->mutable_dataset()->set_sha256("ab"); }},
      {"pair.side", [](Row* row) { row->mutable_pair()->set_side("b"); }},
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
    options.mix = {};
    options.by.push_back(field);
    mixed = Aggregated(options, rows);
    ASSERT_TRUE(mixed.ok()) << mixed.status();
    EXPECT_EQ(mixed->aggregates.size(), 2u) << field;
  }
}

TEST(AggregateChoiceTest, OtherLabelsAreNoMix) {
  Row other = OkRow("a", "Blur", 1, 50);
  other.add_labels("per_sample_loop");
  const auto result =
      Aggregated(ByLibrary(), {OkRow("a", "Blur", 0, 100), other});
  EXPECT_TRUE(result.ok()) << result.status();
}

}  // namespace
}  // namespace feedrate
