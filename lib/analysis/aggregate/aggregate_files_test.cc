#include <algorithm>
#include <cstdint>
#include <fstream>
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
#include "lib/analysis/aggregate/aggregate.h"
#include "lib/analysis/aggregate/aggregate_records.h"
#include "lib/analysis/aggregate/testing_aggregates.h"
#include "lib/records/json.h"
#include "lib/records/row.pb.h"

namespace feedrate {
namespace {

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
  // A log's line and torn records do not make the program fail.
  EXPECT_EQ(result->refused_records, 0);
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
    EXPECT_EQ(result->refused_records, 1) << broken;
    EXPECT_EQ(complaints.size(), 1u) << broken;
  }
}

}  // namespace
}  // namespace feedrate
