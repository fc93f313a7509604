#include "lib/analysis/aggregate/aggregate.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/analysis/aggregate/aggregate_records.h"
#include "lib/analysis/aggregate/row_groups.h"
#include "lib/analysis/aggregate/testing_aggregates.h"
#include "lib/records/json.h"
#include "lib/records/row.pb.h"
#include "lib/records/summary.pb.h"

namespace feedrate {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The rows as lines of a file.
std::string Text(const std::vector<Row>& rows) {
  std::string text;
  for (const Row& row : rows) AppendRecord(row, &text);
  return text;
}

// Writes a file for the test; returns its path.
std::string WriteFile(const std::string& name, const std::string& content) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/", name);
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

// Aggregates files. Appends complaints to `complaints`, which may be null.
absl::StatusOr<AggregateResult> RunFiles(AggregateOptions options,
                                         const std::vector<std::string>& paths,
                                         std::vector<std::string>* complaints) {
  options.complain = [=](const std::string& text) {
    if (complaints != nullptr) complaints->push_back(text);
  };
  auto aggregator = RowAggregator::Create(options);
  if (!aggregator.ok()) return aggregator.status();
  const absl::Status status = (*aggregator)->ReadPaths(paths);
  if (!status.ok()) return status;
  return (*aggregator)->Finish();
}

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
              HasSubstr("is no number"));
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
  rows.push_back(OkRow("c", "Blur", 0, 0));
  rows.back().set_status("unsupported");
  // It never ran, so it does not know its version.
  rows.back().clear_library_version();
  AggregateOptions options = ByLibrary();
  options.slow_marker = [](const std::string& scenario, const std::string& unit,
                           const std::string&) {
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

// Rows from files: both readers, any order, broken lines.

// Rows with random values in many fields.
std::vector<Row> RandomRows(int count, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto one_of = [&](std::vector<std::string> choices) {
    return choices[random() % choices.size()];
  };
  std::vector<Row> rows;
  for (int i = 0; i < count; ++i) {
    Row row =
        OkRow(one_of({"kornia", "pillow \"x\"", "ünïcode", "back\\slash"}),
              one_of({"Blur", "Flip", ""}), static_cast<int>(random() % 40),
              static_cast<double>(random() % 100000) / 97);
    row.set_attempt(random() % 10 == 0 ? 1 : 0);
    row.set_status(one_of({"ok", "ok", "ok", "early_stopped", "failed"}));
    if (row.status() != "ok") row.set_reason(one_of({"because", "b\"c\n"}));
    if (random() % 2 == 0) row.add_labels("per_sample_loop");
    if (random() % 2 == 0) row.add_warnings("noisy");
    for (uint64_t j = random() % 4; j > 0; --j) {
      row.add_samples_s(static_cast<double>(random() % 1000) / 1e6);
    }
    if (random() % 3 == 0) (*row.mutable_settings())["prefetch"] = "4";
    if (random() % 3 == 0) row.clear_equivalence();
    row.mutable_dataset()->set_id("d");
    row.set_batch_size(256);
    row.set_started_at(absl::StrCat("2026-11-15T02:0", random() % 10, ":00Z"));
    rows.push_back(std::move(row));
  }
  return rows;
}

TEST(AggregateFilesTest, FastAndThoroughReadersAgree) {
  const std::vector<Row> rows = RandomRows(1000, 1);
  AggregateOptions options = ByLibrary();
  options.split = true;
  options.relative_to = "kornia";
  for (const char* where :
       {"", "status == \"ok\"", "\"noisy\" in warnings",
        "settings.prefetch == 4 || equivalence.label == \"exact\"",
        "throughput > 100", "run_index < 20"}) {
    for (const char* by :
         {"library", "run_index", "settings.prefetch", "settings",
          "equivalence.label", "labels", "attempt", "loader.gpu.busy"}) {
      options.where = where;
      options.by = {"library", "transform"};
      if (std::string(by) != "library") options.by.push_back(by);
      const auto slow = Aggregated(options, rows);
      ASSERT_TRUE(slow.ok()) << slow.status();
      // As our writer prints rows, and as others may: with spaces, in another
      // order.
      const std::string printed = Text(rows);
      for (const std::string& text :
           {printed,
            absl::StrReplaceAll(printed, {{",\"", ", \""}, {"\":", "\": "}}),
            absl::StrReplaceAll(printed,
                                {{",\"library\":", "\t,\"library\"\t:"},
                                 {"[", "[ "},
                                 {"]", "\r]"},
                                 {"}\n", " } \r\n"}}),
            absl::StrReplaceAll(printed,
                                {{"\"schema\":1,\"record\":\"row\",",
                                  "\"record\":\"row\",\"schema\":1,"}})}) {
        const auto fast = RunFiles(options, {WriteFile("rows", text)}, nullptr);
        ASSERT_TRUE(fast.ok()) << fast.status();
        EXPECT_EQ(fast->broken_lines, 0);
        ASSERT_EQ(RenderJsonl(*fast), RenderJsonl(*slow)) << where << " " << by;
        EXPECT_EQ(fast->rows, 1000);
        EXPECT_EQ(fast->used, slow->used);
        EXPECT_EQ(fast->duplicates, slow->duplicates);
      }
    }
  }
}

// Rows of few jobs in the same order in every run, as runners write them, with
// a few unusual ones that could confuse a reader that expects the usual.
TEST(AggregateFilesTest, OddRowsAmongManyAlikeAreReadAsWell) {
  std::mt19937_64 random(4);
  std::vector<Row> rows;
  for (int run = 0; run < 120; ++run) {
    for (int job = 0; job < 30; ++job) {
      Row row = OkRow(absl::StrCat("library", job % 5),
                      absl::StrCat("Transform", job), run,
                      static_cast<double>(random() % 100000) / 97);
      row.set_batch_size(256);
      row.set_duration_s(static_cast<double>(random() % 1000) / 7);
      if (job % 2 == 0) row.set_started_at("2026-11-15T02:00:00Z");
      if (job % 3 == 0) row.add_samples_s(row.duration_s());
      if (random() % 40 == 0) {
        switch (random() % 8) {
          case 0:
            row.set_status("failed");
            row.set_reason("odd");
            break;
          case 1:
            row.set_attempt(3);
            break;
          case 2:
            row.add_labels("per_sample_loop");
            break;
          case 3:
            row.set_transform("Transform1234567890");
            break;
          case 4:
            row.set_throughput(1e-7);
            break;
          case 5:
            row.clear_job_id();
            break;
          case 6:
            row.mutable_equivalence()->set_label("different");
            break;
          default:
            row.set_run_index(-1);
        }
      }
      rows.push_back(std::move(row));
    }
  }
  const auto slow = Aggregated(ByLibrary(), rows);
  ASSERT_TRUE(slow.ok()) << slow.status();
  for (const int threads : {1, 2}) {
    AggregateOptions options = ByLibrary();
    options.threads = threads;
    // Several blocks, so that both threads have work.
    std::string text = Text(rows);
    const auto fast = RunFiles(options, {WriteFile("alike", text)}, nullptr);
    ASSERT_TRUE(fast.ok()) << fast.status();
    EXPECT_EQ(RenderJsonl(*fast), RenderJsonl(*slow));
  }
}

TEST(AggregateFilesTest, AnyOrderAndAnyFilesGiveTheSameTable) {
  std::vector<Row> rows = RandomRows(20000, 2);
  std::mt19937_64 random(3);
  AggregateOptions options = ByLibrary();
  options.split = true;
  options.relative_to = "kornia";
  std::string expected;
  for (const int threads : {1, 2, 3}) {
    options.threads = threads;
    const size_t cut = random() % rows.size();
    const std::string one = WriteFile(
        "one", Text(std::vector<Row>(rows.begin(), rows.begin() + cut)));
    const std::string two =
        WriteFile("two", Text({rows.begin() + cut, rows.end()}));
    for (const auto& paths : {std::vector<std::string>{one, two}, {two, one}}) {
      const auto result = RunFiles(options, paths, nullptr);
      ASSERT_TRUE(result.ok()) << result.status();
      const std::string text = RenderJsonl(*result);
      if (expected.empty()) expected = text;
      ASSERT_EQ(text, expected);
    }
    std::shuffle(rows.begin(), rows.end(), random);
  }
}

TEST(AggregateFilesTest, BrokenLinesAreNamedAndTheRestIsUsed) {
  const std::string good = Text({OkRow("a", "Blur", 0, 100)});
  const std::string other = Text({OkRow("a", "Blur", 1, 100)});
  const std::string third = Text({OkRow("a", "Blur", 2, 100)});
  std::vector<std::string> complaints;
  const auto result = RunFiles(
      ByLibrary(),
      {WriteFile("broken.jsonl",
                 absl::StrCat(good, "\nrubbish\n", other.substr(0, 50), other,
                              "{\"schema\":1,\"record\":\"env\"}\n",
                              "{\"schema\":1,\"record\":\"job\",\"job_id\":\"x",
                              third, third.substr(0, 60)))},
      &complaints);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->aggregates[0].runs(), 3);
  EXPECT_EQ(result->broken_lines, 3);
  ASSERT_EQ(complaints.size(), 4u);
  EXPECT_THAT(complaints[0], HasSubstr("broken.jsonl:3: not JSON"));
  EXPECT_THAT(complaints[1], HasSubstr("broken.jsonl:4: "));
  EXPECT_THAT(complaints[1], HasSubstr("it holds 1 record"));
  EXPECT_THAT(complaints[2], HasSubstr("broken.jsonl:6: "));
  EXPECT_THAT(complaints[3], HasSubstr("broken.jsonl:7: skipped the torn"));
}

// A wrong file used to give a line of error for each of its lines.
TEST(AggregateFilesTest, TheFirstBrokenLinesOfAFileAreNamedTheRestCounted) {
  std::string wrong;
  for (int i = 0; i < 100000; ++i) absl::StrAppend(&wrong, "line ", i, "\n");
  const std::string a = WriteFile("a.jsonl", wrong);
  const std::string b = WriteFile("b.jsonl", "x\n\nx\n");
  AggregateOptions options = ByLibrary();
  options.threads = 3;
  std::vector<std::string> complaints;
  const auto result = RunFiles(options, {a, b}, &complaints);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->broken_lines, 100002);
  ASSERT_EQ(complaints.size(), 8u);
  for (int i = 0; i < 5; ++i) {
    EXPECT_THAT(complaints[i],
                HasSubstr(absl::StrCat("a.jsonl:", i + 1, ": ")));
  }
  EXPECT_THAT(complaints[5], HasSubstr("a.jsonl: 99995 more broken lines"));
  EXPECT_THAT(complaints[7], HasSubstr("b.jsonl:3: "));
}

TEST(AggregateFilesTest, WrongTypesAreBrokenLines) {
  for (const char* broken :
       {"{\"schema\":1,\"record\":\"row\",\"library\":3,\"status\":\"ok\"}",
        "{\"schema\":1,\"record\":\"row\",\"throughput\":\"x\"}",
        "{\"schema\":1,\"record\":\"row\",\"status\":\"ok\"}",
        "{\"schema\":1,\"record\":\"row\",\"status\":\"ok\",\"throughput\":"
        "null}",
        "{\"schema\":1,\"record\":\"row\",\"status\":\"ok\",\"throughput\":-1}",
        "{\"schema\":1,\"record\":\"row\",\"batch_size\":\"x\"}",
        "{\"schema\":1,\"record\":\"row\",\"labels\":{}}",
        "{\"schema\":1,\"record\":\"row\",\"dataset\":\"imagenet\"}",
        "{\"schema\":2,\"record\":\"row\"}", "{\"record\":\"row\"}",
        "{\"schema\":1,\"record\":\"row\"}}"}) {
    std::vector<std::string> complaints;
    const auto result =
        RunFiles(ByLibrary(), {WriteFile("types", absl::StrCat(broken, "\n"))},
                 &complaints);
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(result->rows, 0) << broken;
    EXPECT_EQ(complaints.size(), 1u) << broken;
  }
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
