#include "lib/gate/run_compare.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/gate/baselines.h"
#include "lib/gate/gate_input.h"
#include "lib/gate/history.h"
#include "lib/records/json.h"

namespace feedrate {
namespace {

class GateInputTest : public testing::Test {
 protected:
  absl::StatusOr<GateInput> Parse(const std::string& text) {
    return ParseGateInput(
        text, "in", RunStatistic::kTypical,
        [this](const std::string& line) { warnings_.push_back(line); });
  }
  std::vector<std::string> warnings_;
};

TEST_F(GateInputTest, ARowOfTheWrongTypeIsNotLeftOut) {
  constexpr char kGood[] =
      "{\"schema\":1,\"record\":\"row\",\"job_id\":\"a\",\"status\":\"ok\","
      "\"throughput\":5}\n";
  for (const char* value :
       {"\"fast\"", "true", "null", "-1", "0", "[5]", "{}", "NaN", "1e999"}) {
    const std::string wrong = absl::StrCat(
        "{\"schema\":1,\"record\":\"row\",\"job_id\":\"b\",\"status\":\"ok\","
        "\"throughput\":",
        value, "}\n");
    const auto rows = Parse(kGood + wrong);
    EXPECT_TRUE(absl::IsInvalidArgument(rows.status())) << value;
    EXPECT_EQ(rows.status().message().find("in:2: "), 0) << rows.status();
    EXPECT_TRUE(warnings_.empty());
  }
  EXPECT_TRUE(Parse(kGood).ok());
}

// A pull request must not choose which of two numbers counts, or its baseline.
TEST_F(GateInputTest, ARowSaysNothingTwiceAndNamesNoPath) {
  const std::string start =
      "{\"schema\":1,\"record\":\"row\",\"job_id\":\"b\",\"status\":\"ok\","
      "\"throughput\":5,\"machine_profile\":";
  const auto twice = Parse(start + "\"m\",\"throughput\":500}\n");
  EXPECT_EQ(twice.status().message(),
            "in:1: field \"throughput\" is there twice; which one counts?");
  for (const char* profile :
       {"../outside/evil", "/evil", "a/b", "..", ".hidden", "a\\nb"}) {
    const auto rows = Parse(absl::StrCat(start, "\"", profile, "\"}\n"));
    EXPECT_TRUE(absl::IsInvalidArgument(rows.status())) << profile;
    EXPECT_FALSE(BaselineStore("b").FileOf(profile, "rows.jsonl").ok());
  }
  EXPECT_FALSE(
      ParseMetrics("{\"machine_profile\":\"../x\",\"a\":1}", "f").ok());
  EXPECT_FALSE(UpdateBaselines(testing::TempDir() + "/inside",
                               {{"../outside", "rows.jsonl", "x"}}, {}, "why",
                               absl::UnixEpoch())
                   .ok());
  EXPECT_FALSE(IsFile(testing::TempDir() + "/outside.rows.jsonl"));
  EXPECT_TRUE(Parse(start + "\"m-1_2c\"}\n").ok());
}

TEST_F(GateInputTest, KnowsRowsFromMetrics) {
  const auto rows = Parse(
      "{\"schema\":1,\"record\":\"row\",\"job_id\":\"a\"}\n"
      "{\"schema\":1,\"record\":\"row\",\"job_id\":\"a\",\"pair\":{\"index\":0,"
      "\"side\":\"a\"}}\n");
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ(rows->rows.size(), 1);
  EXPECT_EQ(rows->paired_rows, 1);
  EXPECT_FALSE(rows->metrics.has_value());
  const auto verdicts = Parse(
      "{\"schema\":1,\"record\":\"verdict\",\"scope\":\"job\","
      "\"verdict\":\"same\"}\n"
      "{\"schema\":1,\"record\":\"verdict\",\"scope\":\"suite\","
      "\"verdict\":\"same\",\"exit_code\":0}\n");
  ASSERT_TRUE(verdicts.ok()) << verdicts.status();
  EXPECT_EQ(verdicts->verdicts.size(), 1);
  const auto metrics =
      Parse("{\n  \"machine_profile\": \"m\",\n \"x\": 1\n}\n");
  ASSERT_TRUE(metrics.ok()) << metrics.status();
  ASSERT_TRUE(metrics->metrics.has_value());
  EXPECT_EQ(metrics->metrics->metrics.at("x"), 1);
}

// A benchmark must not print its own verdict, or rows of neither side.
TEST_F(GateInputTest, AVerdictDoesNotReplaceRows) {
  const std::string start = "{\"schema\":1,\"record\":\"";
  const std::string row = start + "row\",\"job_id\":\"a\"}\n";
  const auto verdict = [&start](const std::string& rest) {
    return start + "verdict\",\"scope\":\"job\",\"verdict\":" + rest + "}\n";
  };
  EXPECT_TRUE(Parse(verdict("\"same\"")).ok());
  EXPECT_FALSE(Parse(row + verdict("\"same\"")).ok());
  EXPECT_FALSE(Parse(verdict("\"same\"") + row).ok());
  EXPECT_FALSE(Parse(verdict("\"Slower\"")).ok());
  for (const char* code : {"-1", "6", "256"}) {
    EXPECT_FALSE(
        Parse(verdict(absl::StrCat("\"same\",\"exit_code\":", code))).ok());
  }
  for (const char* side : {"", "A", "c"}) {
    EXPECT_FALSE(Parse(absl::StrCat(start,
                                    "row\",\"job_id\":\"a\",\"pair\":{"
                                    "\"index\":0,\"side\":\"",
                                    side, "\"}}\n"))
                     .ok());
  }
}

TEST_F(GateInputTest, EmptyIsEmptyAndRubbishIsRefused) {
  ASSERT_TRUE(Parse("").ok());
  EXPECT_TRUE(Parse("")->rows.empty());
  EXPECT_FALSE(Parse("hello\nworld\n").ok());
  EXPECT_FALSE(Parse("{\"machine_profile\": \"m\",").ok());
  EXPECT_FALSE(Parse("[1]\n[2]\n").ok());
}

TEST_F(GateInputTest, ATornLineIsToldAndPassedOver) {
  const auto rows = Parse(
      "{\"schema\":1,\"record\":\"row\",\"job_id\":\"a\"}\n{\"schema\":1,"
      "\"rec");
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows->rows.size(), 1);
  EXPECT_EQ(warnings_.size(), 1);
}

TEST(MetricsTest, ReadsNumbersAtAnyDepth) {
  const auto file = ParseMetrics(
      R"({"machine_profile":"m","schema":1,"tokens_per_sec_p50":12.5,)"
      R"("note":"x","ok":true,"probes":{"copy":80}})",
      "f");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->machine_profile, "m");
  EXPECT_EQ(file->metrics.at("tokens_per_sec_p50"), 12.5);
  EXPECT_EQ(file->metrics.at("probes.copy"), 80);
  EXPECT_EQ(file->metrics.count("note"), 0);
}

TEST(MetricsTest, RefusesWhatIsNotWhole) {
  for (const char* text :
       {"", "{", "[]", "3", "{\"machine_profile\":\"m\"", "\xff\xfe",
        "{\"machine_profile\":\"m\"}", "{\"machine_profile\":3,\"x\":1}",
        "{\"machine_profile\":\"\",\"x\":1}", "{\"x\":1}",
        "{\"machine_profile\":\"m\",\"x\":null}",
        "{\"machine_profile\":\"m\",\"x\":NaN}",
        "{\"machine_profile\":\"m\",\"x\":1e999}",
        // Which of the two was reviewed?
        "{\"machine_profile\":\"m\",\"x\":1,\"x\":2}",
        "{\"machine_profile\":\"m\",\"x.y\":1,\"x\":{\"y\":2}}"}) {
    const auto file = ParseMetrics(text, "f.json");
    EXPECT_FALSE(file.ok()) << text;
    EXPECT_EQ(file.status().message().substr(0, 7), "f.json:") << text;
  }
}

TEST(MetricsTest, KnowsTheLinesOfValues) {
  const auto file = ParseMetrics(
      "{\"machine_profile\": \"a\\\":m\",\n\"a\\u0062\": 1, \"list\":\n"
      "[{\"x\": 1}, \"x\"],\n\"x\" :\n{\"y\": \"x\"\n,\"z\": 2}}",
      "f");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->lines.at("ab"), 2);
  EXPECT_EQ(file->lines.at("list"), 2);
  EXPECT_EQ(file->lines.at("x.y"), 5);
  EXPECT_EQ(file->lines.at("x.z"), 6);
}

// Neither the names of many values in a nest of long names nor the search for
// lines may take more than the file: these would take gigabytes, and minutes.
TEST(MetricsTest, ASmallFileTakesLittle) {
  std::string escaped = "{\"machine_profile\":\"m\"";
  for (int i = 0; i < 200000; ++i) {
    absl::StrAppend(&escaped, ",\"\\u0061", i, "\":1");
  }
  const auto file = ParseMetrics(escaped + "}", "f");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->metrics.size(), 200000);

  std::string nest = "{\"machine_profile\":\"m\",";
  for (int i = 0; i < 500; ++i) {
    absl::StrAppend(&nest, "\"", std::string(2000, 'n'), "\":{");
  }
  for (int i = 0; i < 100000; ++i) absl::StrAppend(&nest, "\"", i, "\":1,");
  const auto refused =
      ParseMetrics(nest + "\"x\":1" + std::string(501, '}'), "f");
  ASSERT_FALSE(refused.ok());
  EXPECT_LT(refused.status().message().size(), 200);
  EXPECT_NE(refused.status().message().find("too long a name"),
            absl::string_view::npos);
}

TEST(MetricsTest, RowsGiveMedians) {
  std::vector<Row> rows(4);
  for (int i = 0; i < 3; ++i) {
    rows[i].set_status("ok");
    rows[i].set_throughput(10 + i);
    rows[i].mutable_cache()->set_resident_fraction(0.5);
  }
  rows[0].set_p90_s(3);
  rows[3].set_status("failed");
  rows[3].set_throughput(1);
  const Metrics metrics = MediansOf(ValuesOfRows(rows));
  EXPECT_EQ(metrics.at("throughput"), 11);
  EXPECT_EQ(metrics.at("p90_s"), 3);
  EXPECT_EQ(metrics.at("cache.resident_fraction"), 0.5);
  EXPECT_EQ(metrics.count("p99_s"), 0);
}

class BaselineStoreTest : public testing::Test {
 protected:
  BaselineStoreTest()
      : folder_(absl::StrCat(
            testing::TempDir(), "/",
            testing::UnitTest::GetInstance()->current_test_info()->name())),
        store_(folder_) {
    EXPECT_TRUE(MakeFolder(folder_).ok());
  }
  void Write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(WriteFileAtomically(folder_ + "/" + name, text).ok());
  }
  static std::string RowText(const std::string& profile) {
    Row row;
    row.set_job_id("j");
    row.set_status("ok");
    row.set_throughput(1);
    row.set_machine_profile(profile);
    std::string text;
    AppendRecord(row, &text);
    return text;
  }
  const std::string folder_;
  const BaselineStore store_;
};

TEST_F(BaselineStoreTest, ListsMachines) {
  Write("a.metrics.json", "x");
  Write("b_2c.rows.jsonl", "x");
  Write("a.eval.json", "x");
  Write("c.calibration.jsonl", "x");
  EXPECT_EQ(*store_.Profiles(), (std::vector<std::string>{"a", "b_2c"}));
  EXPECT_EQ(BaselineStore(folder_ + "/none").Profiles().status().message(),
            folder_ +
                "/none: cannot list: No such file or directory; "
                "--update_baseline makes the folder");
}

TEST_F(BaselineStoreTest, WhatIsNotThereIsNone) {
  EXPECT_FALSE(store_.ReadMetrics("a")->has_value());
  EXPECT_FALSE(store_.ReadEval("a")->has_value());
  EXPECT_FALSE(store_.ReadRows("a")->has_value());
  EXPECT_TRUE(store_.ReadCalibrations("a")->empty());
}

TEST_F(BaselineStoreTest, RefusesFilesOfAnotherMachine) {
  Write("a.metrics.json", "{\"machine_profile\":\"b\",\"x\":1}");
  Write("a.rows.jsonl", RowText("b"));
  EXPECT_FALSE(store_.ReadMetrics("a").ok());
  EXPECT_FALSE(store_.ReadRows("a").ok());
  EXPECT_NE(store_.ReadRows("a").status().message().find("machine \"b\""),
            std::string::npos);
}

TEST_F(BaselineStoreTest, RefusesTornTamperedAndEmptyRows) {
  const std::string good = RowText("a");
  for (const std::string& text :
       {std::string(), good.substr(0, good.size() - 5),
        good + "{\"x\":", good + "rubbish\n", good + good.substr(0, 30) + "\n",
        std::string("{\"schema\":1,\"record\":\"row\"}\n"),
        std::string("{\"schema\":99,\"record\":\"row\",\"job_id\":\"j\"}\n"),
        std::string("{\"schema\":1,\"record\":\"row\",\"job_id\":3}\n"),
        std::string("{\"schema\":1,\"record\":\"row\",\"job_id\":\"j\","
                    "\"status\":\"ok\",\"machine_profile\":\"a\"}\n")}) {
    Write("a.rows.jsonl", text);
    const auto rows = store_.ReadRows("a");
    EXPECT_FALSE(rows.ok()) << text;
    EXPECT_EQ(rows.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(*ReadFile(folder_ + "/a.rows.jsonl"), text);
  }
  Write("a.rows.jsonl", good);
  EXPECT_TRUE(store_.ReadRows("a").ok());
}

TEST_F(BaselineStoreTest, ReadsFloors) {
  Calibration calibration;
  calibration.set_job_id("j");
  calibration.set_machine_profile("a");
  std::string text;
  AppendRecord(calibration, &text);
  calibration.set_job_id("k");
  calibration.set_floor_percent(3);
  AppendRecord(calibration, &text);
  Write("a.calibration.jsonl", text);
  const auto read = store_.ReadCalibrations("a");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(FloorsOf(*read).at("k"), 3);
  EXPECT_GE(FloorsOf(*read).at("j"), 1000);
  Write("b.calibration.jsonl", text);
  EXPECT_FALSE(store_.ReadCalibrations("b").ok());
}

Checkout On(const std::string& branch, bool dirty) {
  Checkout checkout;
  checkout.branch = branch;
  checkout.git.set_revision("abc");
  checkout.git.set_dirty(dirty);
  return checkout;
}

TEST(UpdateBaselineTest, OnlyOnMainOfACleanCheckout) {
  EXPECT_TRUE(MayUpdate(On("main", false), "").ok());
  EXPECT_FALSE(MayUpdate(On("main", true), "").ok());
  EXPECT_FALSE(MayUpdate(On("feature", false), "").ok());
  EXPECT_FALSE(MayUpdate(On("", false), "").ok());
  EXPECT_FALSE(MayUpdate(Checkout(), "").ok());
  Checkout unknown = On("main", false);
  unknown.git.clear_dirty();
  EXPECT_FALSE(MayUpdate(unknown, "").ok());
  EXPECT_TRUE(MayUpdate(Checkout(), "new machine").ok());
}

TEST(UpdateBaselineTest, KeepsWhatItReplaced) {
  const std::string folder = absl::StrCat(testing::TempDir(), "/baselines");
  const absl::Time now = absl::FromUnixSeconds(1767323045);
  const std::vector<NewBaseline> first = {{"m", "metrics.json", "one\n"}};
  auto updates = UpdateBaselines(folder, first, On("main", false), "", now);
  ASSERT_TRUE(updates.ok()) << updates.status();
  EXPECT_EQ((*updates)[0].replaced(), "");
  const std::vector<NewBaseline> second = {{"m", "metrics.json", "two\n"}};
  updates = UpdateBaselines(folder, second, On("x", true), "why", now);
  ASSERT_TRUE(updates.ok()) << updates.status();
  EXPECT_EQ((*updates)[0].maintainer_reason(), "why");
  EXPECT_EQ((*updates)[0].replaced(),
            "history/m.metrics.20260102T030405.000Z.json");
  EXPECT_EQ(*ReadFile(folder + "/m.metrics.json"), "two\n");
  EXPECT_EQ(*ReadFile(folder + "/" + (*updates)[0].replaced()), "one\n");
  const std::string log = *ReadFile(folder + "/m.updates.jsonl");
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 2);
}

// Each reads the file, adds to it and writes it again.
TEST_F(BaselineStoreTest, ChangesAtOnceAreAllKept) {
  constexpr int kProcesses = 16;
  const Checkout checkout = On("main", false);
  const absl::Time now = absl::FromUnixSeconds(1);
  std::vector<std::thread> threads;
  for (int i = 0; i < kProcesses; ++i) {
    threads.emplace_back([&, i] {
      Calibration one;
      one.set_machine_profile("m");
      one.set_job_id(absl::StrCat("job", i));
      EXPECT_TRUE(store_.AddCalibrations({one}).ok());
      EXPECT_TRUE(UpdateBaselines(folder_,
                                  {{"m", "rows.jsonl", absl::StrCat(i, "\n")}},
                                  checkout, "", now)
                      .ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(store_.ReadCalibrations("m")->size(), kProcesses);
  const std::string log = *ReadFile(folder_ + "/m.updates.jsonl");
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), kProcesses);
  std::set<std::string> contents = {*ReadFile(folder_ + "/m.rows.jsonl")};
  const auto history = ListFiles(folder_ + "/history", "", false);
  ASSERT_TRUE(history.ok()) << history.status();
  for (const std::string& path : *history) {
    contents.insert(*ReadFile(path));
  }
  EXPECT_EQ(contents.size(), kProcesses) << "a baseline is lost";
}

HistoryEntry Entry(int number, double seconds, int runs, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(0, 0.01);
  HistoryEntry entry;
  entry.revision = absl::StrCat("rev", number);
  for (int run = 0; run < runs; ++run) {
    Row row;
    row.set_job_id("job");
    row.set_transform("Flip");
    row.set_library("opencv");
    row.set_mode("micro");
    row.set_device("cpu");
    row.set_status("ok");
    row.set_machine_profile("m");
    row.add_samples_s(seconds * std::exp(noise(random)));
    entry.rows.push_back(row);
  }
  return entry;
}

TEST(HistoryTest, NamesTheCommitsAroundAStep) {
  std::vector<HistoryEntry> entries;
  for (int i = 0; i < 40; ++i) {
    entries.push_back(Entry(i, i < 20 || i >= 32 ? 1 : 1.06, 3, i));
  }
  entries[7].rows[0].set_samples_s(0, 9);
  const std::vector<ChangePoint> points = FindChangePoints(entries, {});
  ASSERT_EQ(points.size(), 2);
  EXPECT_EQ(points[0].before(), "rev19");
  EXPECT_EQ(points[0].after(), "rev20");
  EXPECT_NEAR(points[0].percent(), 6, 1);
  EXPECT_EQ(points[0].gone_at(), "rev32");
  EXPECT_EQ(points[0].job(), "opencv Flip");
  const std::string text = HistoryText(points, entries, {});
  EXPECT_NE(text.find("after rev19, at the latest in rev20"),
            std::string::npos);
  EXPECT_NE(text.find("went away in rev32"), std::string::npos);
  EXPECT_NE(text.find("2 changes in 1 job"), std::string::npos);
}

// A campaign that continued under taskset is not a regression.
TEST(HistoryTest, FewerProcessorsMakeNoStep) {
  std::vector<HistoryEntry> entries;
  for (int i = 0; i < 40; ++i) {
    entries.push_back(Entry(i, i < 20 ? 1 : 2, 3, i));
    if (i < 20) continue;
    for (Row& row : entries[i].rows) row.set_usable_cpus(1);
  }
  EXPECT_TRUE(FindChangePoints(entries, {}).empty());
  const std::vector<HistorySeries> series = HistoryOf(entries, {});
  ASSERT_EQ(series.size(), 2);
  EXPECT_EQ(series[1].label, "opencv Flip, 1 processor");
}

TEST(HistoryTest, NoisyAttemptsMakeNoStep) {
  std::vector<HistoryEntry> entries;
  for (int i = 0; i < 40; ++i) {
    entries.push_back(Entry(i, 1, 3, i));
    if (i < 20) continue;
    Row noisy = entries[i].rows[0];
    noisy.set_samples_s(0, 1.5);
    noisy.set_attempt(1);
    noisy.add_warnings("noisy");
    for (int j = 0; j < 3; ++j) entries[i].rows.push_back(noisy);
  }
  EXPECT_TRUE(FindChangePoints(entries, {}).empty());
  for (HistoryEntry& entry : entries) {
    for (Row& row : entry.rows) row.clear_warnings();
  }
  EXPECT_EQ(FindChangePoints(entries, {}).size(), 1);
}

TEST(HistoryTest, ReadsFilesInTheOrderOfTheirTimes) {
  const std::string folder = testing::TempDir();
  std::vector<std::string> paths;
  for (const int number : {2, 1}) {
    Env env;
    env.mutable_git()->set_revision(absl::StrCat("r", number));
    Row row;
    row.set_job_id("j");
    row.set_status("ok");
    row.set_started_at(absl::StrCat("2026-01-0", number, "T00:00:00Z"));
    std::string text;
    AppendRecord(env, &text);
    AppendRecord(row, &text);
    paths.push_back(absl::StrCat(folder, "/h", number, ".jsonl"));
    ASSERT_TRUE(WriteFileAtomically(paths.back(), text + "broken\n").ok());
  }
  std::vector<std::string> warnings;
  const auto entries = ReadHistory(
      paths, {}, [&](const std::string& text) { warnings.push_back(text); });
  ASSERT_TRUE(entries.ok()) << entries.status();
  ASSERT_EQ(entries->size(), 2);
  EXPECT_EQ((*entries)[0].revision, "r1");
  EXPECT_EQ((*entries)[1].revision, "r2");
  EXPECT_EQ(warnings.size(), 2);
  EXPECT_FALSE(
      ReadHistory({folder + "/none.jsonl"}, {}, [](const std::string&) {
      }).ok());
}

TEST(HistoryTest, FilesOfOtherHarnessesArePoints) {
  const std::string folder = testing::TempDir() + "/nightly";
  ASSERT_TRUE(MakeFolder(folder + "/run-9").ok());
  const auto write = [&folder](const std::string& name, double ms) {
    return WriteFileAtomically(
        JoinPath(folder, name),
        absl::StrCat("name,time_ms\nsort,", ms, "\nsort,", ms + 0.5, "\n"));
  };
  // Twelve at 10 ms, then twelve at 12; in the order of their numbers.
  for (int i = 1; i <= 24; ++i) {
    if (i == 9) continue;
    ASSERT_TRUE(
        write(absl::StrCat("run-", i, ".csv"), (i > 12 ? 12 : 10) + 0.01 * i)
            .ok());
  }
  // Several files of a point.
  ASSERT_TRUE(write("run-9/one.csv", 10).ok());
  ASSERT_TRUE(write("run-9/two.csv", 10).ok());
  ASSERT_TRUE(WriteFileAtomically(folder + "/README.txt", "notes\n").ok());
  const auto entries = ReadHistory(
      {folder}, {}, [](const std::string& text) { FAIL() << text; });
  ASSERT_TRUE(entries.ok()) << entries.status();
  ASSERT_EQ(entries->size(), 24);
  EXPECT_EQ((*entries)[8].revision, "run-9");
  EXPECT_EQ((*entries)[8].rows.size(), 4);
  const std::vector<ChangePoint> points = FindChangePoints(*entries, {});
  ASSERT_EQ(points.size(), 1);
  EXPECT_EQ(points[0].before(), "run-12");
  EXPECT_EQ(points[0].after(), "run-13");
}

TEST(HistoryTest, CommitsAreThoseThatTheResultsName) {
  const auto entries =
      ReadHistory({"lib/imports/testdata/asv"}, {}, [](const std::string&) {});
  ASSERT_TRUE(entries.ok()) << entries.status();
  ASSERT_EQ(entries->size(), 2);
  EXPECT_EQ((*entries)[0].revision, "277633c18b375a1c8463533749f03aca43e521c6");
  // The date of the commit, by which asv orders its own pages.
  EXPECT_EQ((*entries)[0].started_at, "2026-11-16T11:38:16Z");
}

}  // namespace
}  // namespace feedrate
