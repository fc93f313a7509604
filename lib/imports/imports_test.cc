#include "lib/imports/imports.h"

#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/stats/quantiles.h"
#include "simdjson.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

std::string Data(const std::string& name) {
  return absl::StrCat("lib/imports/testdata/", name);
}

std::vector<Row> Read(const std::string& name,
                      const std::string& harness = "") {
  std::vector<Row> rows;
  Importer importer({harness, {}}, [&rows](const Row& row) {
    rows.push_back(row);
    return absl::OkStatus();
  });
  const absl::Status status = importer.ReadPath(Data(name));
  EXPECT_TRUE(status.ok()) << status;
  return rows;
}

// The rows of each benchmark, by name and settings.
std::map<std::string, std::vector<Row>> ByName(const std::vector<Row>& rows) {
  std::map<std::string, std::vector<Row>> by_name;
  for (const Row& row : rows) {
    std::string name = row.transform();
    const std::map<std::string, std::string> settings(row.settings().begin(),
                                                      row.settings().end());
    for (const auto& [key, value] : settings) {
      absl::StrAppend(&name, " ", key, "=", value);
    }
    by_name[name].push_back(row);
  }
  return by_name;
}

std::vector<std::string> Names(const std::vector<Row>& rows) {
  std::vector<std::string> names;
  for (const auto& [name, group] : ByName(rows)) {
    names.push_back(absl::StrCat(name, " ", group.size()));
  }
  return names;
}

// Mean, median and standard deviation of all samples.
struct Statistics {
  double mean = 0;
  double median = 0;
  double stddev = 0;
};

Statistics StatisticsOf(const std::vector<Row>& rows) {
  std::vector<double> all;
  for (const Row& row : rows) {
    all.insert(all.end(), row.samples_s().begin(), row.samples_s().end());
  }
  Statistics found;
  found.mean = std::accumulate(all.begin(), all.end(), 0.0) / all.size();
  found.median = Quantile(all, 0.5);
  for (const double s : all) {
    found.stddev += (s - found.mean) * (s - found.mean);
  }
  found.stddev = std::sqrt(found.stddev / (all.size() - 1));
  return found;
}

void ExpectSame(double found, double expected) {
  EXPECT_NEAR(found, expected, 1e-9 * std::abs(expected));
}

// A JSON file that outlives what is looked up in it.
class JsonFile {
 public:
  explicit JsonFile(const std::string& name)
      : json_(parser_.load(Data(name))) {}
  double At(const std::string& pointer) {
    return double(json_.at_pointer(pointer));
  }
  std::string TextAt(const std::string& pointer) {
    return std::string(std::string_view(json_.at_pointer(pointer)));
  }
  size_t SizeOf(const std::string& pointer) {
    return json_.at_pointer(pointer).get_array().size();
  }

 private:
  simdjson::dom::parser parser_;
  simdjson::dom::element json_;
};

TEST(DetectTest, EveryFixtureTellsItsHarness) {
  for (const auto& [file, harness] :
       std::vector<std::pair<std::string, std::string>>{
           {"google_benchmark.json", "google_benchmark"},
           {"google_benchmark_summary.json", "google_benchmark"},
           {"google_benchmark.csv", "csv"},
           {"pytest_benchmark_data.json", "pytest_benchmark"},
           {"pyperf_one.json", "pyperf"},
           {"pyperf_both.json", "pyperf"},
           {"hyperfine.json", "hyperfine"},
           {"hyperfine.csv", "csv"},
           {"criterion", "criterion"},
           {"criterion:base", "criterion"},
           {"criterion/alone/new/estimates.json", "criterion"},
           {"nvbench.json", "nvbench"},
           {"nvbench.csv", "nvbench"},
           {"asv", "asv"},
           {"jmh.json", "jmh"},
           {"go.txt", "go"},
           {"catch2.xml", "catch2"},
           {"table.csv", "csv"}}) {
    EXPECT_EQ(DetectHarnessOfPath(Data(file)), harness) << file;
  }
}

TEST(DetectTest, OurOwnFilesAndOthersAreNone) {
  for (const char* text :
       {"", "{}", "[]", "{\"schema\":1,\"record\":\"row\",\"context\":{}}",
        "{\"machine_profile\": \"m\", \"tokens_per_sec_p50\": 1}", "a,b\n1,2\n",
        "BenchmarkX is slow\n", "<html></html>", "hello\n"}) {
    EXPECT_EQ(DetectHarness(text), "") << text;
  }
}

TEST(GoogleTest, RepetitionsAreRuns) {
  const std::vector<Row> rows = Read("google_benchmark.json");
  EXPECT_THAT(Names(rows),
              ElementsAre("BM_broken 5", "BM_copy/real_time threads=2 5",
                          "BM_sort<int> n=256 5", "BM_sort<int> n=64 5"));
  const Row& row = rows[1];
  EXPECT_EQ(row.mode(), "google_benchmark");
  EXPECT_EQ(row.run_index(), 1);
  EXPECT_EQ(row.job_id(), rows[0].job_id());
  EXPECT_EQ(row.job_id().size(), 16);
  EXPECT_EQ(row.status(), "ok");
  EXPECT_EQ(row.unit(), "iteration");
  EXPECT_THAT(row.machine_profile(), StartsWith("2c_"));
  EXPECT_THAT(row.started_at(), HasSubstr("T"));
  JsonFile file("google_benchmark.json");
  ExpectSame(row.samples_s(0), 1e-9 * file.At("/benchmarks/1/real_time"));
  ExpectSame(row.throughput(), row.items() / row.elapsed_s());
  EXPECT_EQ(row.items(), file.At("/benchmarks/1/iterations"));
  EXPECT_EQ(row.counters().at("passes"), 2);
  ExpectSame(row.counters().at("items_per_second"),
             file.At("/benchmarks/1/items_per_second"));
  ExpectSame(row.counters().at("cpu_time_s"),
             1e-9 * file.At("/benchmarks/1/cpu_time"));
}

TEST(GoogleTest, AnErrorIsAFailedRowWithItsReason) {
  const Row row = ByName(Read("google_benchmark.json"))["BM_broken"][0];
  EXPECT_EQ(row.status(), "failed");
  EXPECT_EQ(row.reason(), "no \"device\"");
}

// google/benchmark's own mean, median and stddev of the same repetitions.
TEST(GoogleTest, StatisticsAreThoseOfTheHarness) {
  JsonFile file("google_benchmark.json");
  auto rows = ByName(Read("google_benchmark.json"));
  std::map<std::string, std::string> names = {
      {"BM_sort<int>/n:64", "BM_sort<int> n=64"},
      {"BM_sort<int>/n:256", "BM_sort<int> n=256"},
      {"BM_copy/real_time/threads:2", "BM_copy/real_time threads=2"}};
  int compared = 0;
  for (size_t i = 0; i < file.SizeOf("/benchmarks"); ++i) {
    const std::string at = absl::StrCat("/benchmarks/", i);
    if (file.TextAt(at + "/run_type") != "aggregate") continue;
    const auto name = names.find(file.TextAt(at + "/run_name"));
    const std::string aggregate = file.TextAt(at + "/aggregate_name");
    if (name == names.end()) continue;
    const Statistics found = StatisticsOf(rows[name->second]);
    const double unit = file.TextAt(at + "/time_unit") == "us" ? 1e-6 : 1e-9;
    const double expected = file.At(at + "/real_time");
    if (aggregate == "mean") ExpectSame(found.mean, expected * unit);
    if (aggregate == "median") ExpectSame(found.median, expected * unit);
    if (aggregate == "stddev") ExpectSame(found.stddev, expected * unit);
    if (aggregate == "cv") ExpectSame(found.stddev / found.mean, expected);
    ++compared;
  }
  EXPECT_EQ(compared, 12);
}

TEST(GoogleTest, AggregatesAloneAreSummaries) {
  const std::vector<Row> rows = Read("google_benchmark_summary.json");
  ASSERT_EQ(rows.size(), 2);
  EXPECT_EQ(rows[0].summary().count(), 5);
  EXPECT_GT(rows[0].summary().stddev_s(), 0);
  EXPECT_EQ(rows[0].samples_s_size(), 0);
  ExpectSame(1 / rows[0].throughput(), rows[0].summary().median_s());
  // The same job as with its repetitions.
  EXPECT_EQ(rows[1].job_id(), Read("google_benchmark.json")[0].job_id());
}

TEST(GoogleTest, NumbersThatJsonDoesNotHaveAreRead) {
  std::vector<Row> rows;
  Importer importer({"", {}}, [&rows](const Row& row) {
    rows.push_back(row);
    return absl::OkStatus();
  });
  const absl::Status status = importer.ReadText(
      "f.json",
      R"({"context": {"executable": "./NaN", "num_cpus": 2}, "benchmarks": [
        {"name": "a/NaN", "real_time": 3, "time_unit": "ms", "x": NaN,
         "y": -Infinity, "z": 4}]})",
      false);
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_EQ(rows.size(), 1);
  EXPECT_EQ(rows[0].transform(), "a/NaN");
  EXPECT_THAT(rows[0].counters(), UnorderedElementsAre(Pair("z", 4)));
}

TEST(PytestTest, RawDataAreSamples) {
  const std::vector<Row> rows = Read("pytest_benchmark_data.json");
  EXPECT_THAT(Names(rows), ElementsAre("test_sort.py::test_sort n=10 1",
                                       "test_sort.py::test_sort n=100 1"));
  EXPECT_EQ(rows[0].samples_s_size(), 12);
  EXPECT_EQ(rows[0].items(), 60);
  EXPECT_THAT(rows[0].machine_profile(), HasSubstr("_2c_x86-64"));
  JsonFile file("pytest_benchmark_data.json");
  for (int i = 0; i < 2; ++i) {
    const Statistics found = StatisticsOf({rows[i]});
    const std::string stats = absl::StrCat("/benchmarks/", i, "/stats/");
    ExpectSame(found.mean, file.At(stats + "mean"));
    ExpectSame(found.median, file.At(stats + "median"));
    ExpectSame(found.stddev, file.At(stats + "stddev"));
  }
}

TEST(PytestTest, WithoutDataThereIsASummary) {
  const std::vector<Row> rows = Read("pytest_benchmark_stats.json");
  ASSERT_EQ(rows.size(), 2);
  EXPECT_EQ(rows[0].samples_s_size(), 0);
  EXPECT_EQ(rows[0].summary().count(), 12);
  EXPECT_EQ(rows[0].job_id(), Read("pytest_benchmark_data.json")[0].job_id());
}

TEST(PyperfTest, ProcessesAreRuns) {
  EXPECT_THAT(Names(Read("pyperf_one.json")), ElementsAre("sort 4"));
  const std::vector<Row> rows = Read("pyperf_both.json");
  EXPECT_THAT(Names(rows), ElementsAre("sort 4", "sum 3"));
  EXPECT_EQ(rows[0].samples_s_size(), 3);
  EXPECT_EQ(rows[0].items(), 3 * 512);
  EXPECT_GT(rows[0].rss_peak_bytes(), 1 << 20);
}

// What pyperf itself says: name, mean, median, stdev.
TEST(PyperfTest, StatisticsAreThoseOfTheHarness) {
  auto rows = ByName(Read("pyperf_both.json"));
  const auto text = ReadFile(Data("pyperf_both.expected"));
  ASSERT_TRUE(text.ok()) << text.status();
  int compared = 0;
  for (const auto& line : absl::StrSplit(*text, '\n', absl::SkipEmpty())) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    const Statistics found = StatisticsOf(rows[words[0]]);
    double expected;
    ASSERT_TRUE(absl::SimpleAtod(words[1], &expected));
    ExpectSame(found.mean, expected);
    ASSERT_TRUE(absl::SimpleAtod(words[2], &expected));
    ExpectSame(found.median, expected);
    ASSERT_TRUE(absl::SimpleAtod(words[3], &expected));
    ExpectSame(found.stddev, expected);
    ++compared;
  }
  EXPECT_EQ(compared, 2);
}

TEST(HyperfineTest, CommandsAreRivals) {
  const std::vector<Row> rows = Read("hyperfine.json");
  ASSERT_EQ(rows.size(), 24);
  EXPECT_EQ(rows[0].library(), "sleep 0.001");
  EXPECT_THAT(rows[0].settings(), UnorderedElementsAre(Pair("n", "1")));
  EXPECT_EQ(rows[5].run_index(), 5);
  EXPECT_EQ(rows[0].machine_profile(), kUnstatedMachine);
  JsonFile file("hyperfine.json");
  for (int i = 0; i < 4; ++i) {
    const Statistics found =
        StatisticsOf({rows.begin() + 6 * i, rows.begin() + 6 * i + 6});
    const std::string at = absl::StrCat("/results/", i, "/");
    ExpectSame(found.mean, file.At(at + "mean"));
    ExpectSame(found.median, file.At(at + "median"));
    ExpectSame(found.stddev, file.At(at + "stddev"));
  }
}

TEST(CriterionTest, SamplesGiveTheEstimates) {
  const std::vector<Row> rows = Read("criterion");
  ASSERT_EQ(rows.size(), 3);
  EXPECT_EQ(rows[0].transform(), "alone");
  EXPECT_EQ(rows[1].transform(), "fib");
  EXPECT_EQ(rows[1].library(), "iterative");
  EXPECT_THAT(rows[1].settings(), UnorderedElementsAre(Pair("value", "20")));
  EXPECT_EQ(rows[2].library(), "recursive");
  EXPECT_EQ(rows[2].samples_s_size(), 30);
  JsonFile estimates("criterion/fib/recursive/20/new/estimates.json");
  const Statistics found = StatisticsOf({rows[2]});
  ExpectSame(found.mean, 1e-9 * estimates.At("/mean/point_estimate"));
  ExpectSame(found.median, 1e-9 * estimates.At("/median/point_estimate"));
  ExpectSame(found.stddev, 1e-9 * estimates.At("/std_dev/point_estimate"));
}

TEST(CriterionTest, EstimatesAloneAreASummary) {
  const Row row = Read("criterion")[0];
  EXPECT_EQ(row.summary().count(), 30);
  JsonFile estimates("criterion/alone/new/estimates.json");
  ExpectSame(row.summary().mean_s(),
             1e-9 * estimates.At("/mean/point_estimate"));
  const std::vector<Row> file = Read("criterion/alone/new/estimates.json");
  ASSERT_EQ(file.size(), 1);
  EXPECT_EQ(file[0].job_id(), row.job_id());
}

TEST(CriterionTest, ANameChoosesTheBaseline) {
  const std::vector<Row> base = Read("criterion:base");
  ASSERT_EQ(base.size(), 3);
  const std::vector<Row> rows = Read("criterion");
  EXPECT_EQ(base[2].job_id(), rows[2].job_id());
  EXPECT_NEAR(base[2].throughput() / rows[2].throughput(), 1.10, 0.02);
}

TEST(NvbenchTest, SamplesBesideTheFileAreRead) {
  const std::vector<Row> rows = Read("nvbench.json");
  ASSERT_EQ(rows.size(), 3);
  EXPECT_EQ(rows[0].transform(), "copy");
  EXPECT_EQ(rows[0].device(), "cuda");
  EXPECT_EQ(rows[0].hardware(), "Example GPU 80GB");
  EXPECT_EQ(rows[0].machine_profile(), "example-gpu-80gb");
  EXPECT_THAT(rows[0].settings(),
              UnorderedElementsAre(Pair("T", "I32"), Pair("BlockSize", "64")));
  EXPECT_EQ(rows[0].samples_s_size(), 20);
  EXPECT_EQ(rows[1].samples_s_size(), 0);
  EXPECT_EQ(rows[1].summary().count(), 20);
  EXPECT_EQ(rows[1].counters().at("cold_bw_global_bytes_per_second"), 5.9e11);
  EXPECT_EQ(rows[2].status(), "unsupported");
  EXPECT_EQ(rows[2].reason(), "Not enough registers.");
}

TEST(NvbenchTest, CsvHoldsTheSameJobs) {
  const std::vector<Row> rows = Read("nvbench.csv");
  ASSERT_EQ(rows.size(), 3);
  EXPECT_EQ(rows[0].job_id(), Read("nvbench.json")[0].job_id());
  EXPECT_EQ(rows[0].summary().count(), 4152);
  ExpectSame(rows[0].summary().mean_s(), 0.0001204);
  ExpectSame(rows[0].summary().stddev_s(), 0.0001204 * 0.0098);
  EXPECT_EQ(rows[0].counters().at("cpu_time_s"), 0.0001264);
  EXPECT_EQ(rows[2].status(), "unsupported");
}

TEST(AsvTest, AFolderHoldsTheRunsOfItsCommits) {
  const std::vector<Row> rows = Read("asv");
  auto by_name = ByName(rows);
  const std::string start = "sorting.Sort.time_sort kind='";
  EXPECT_THAT(Names(rows),
              ElementsAre(start + "list' n=10 2", start + "list' n=100 2",
                          start + "tuple' n=10 2", start + "tuple' n=100 2"));
  for (const Row& row : by_name[start + "list' n=10"]) {
    EXPECT_EQ(row.library_version().size(), 40);
    EXPECT_EQ(row.machine_profile(), "host");
    // One commit was run with --record-samples.
    if (row.samples_s_size() > 0) {
      EXPECT_GE(row.samples_s_size(), 6);
    } else {
      EXPECT_GE(row.summary().count(), 6);
      EXPECT_GT(row.summary().stddev_s(), 0);
    }
  }
  EXPECT_EQ(by_name[start + "tuple' n=100"][0].status(), "unsupported");
}

TEST(AsvTest, MemoryIsNoTime) {
  Importer importer({"asv", {}}, [](const Row&) { return absl::OkStatus(); });
  ASSERT_TRUE(importer.ReadPath(Data("asv")).ok());
  EXPECT_EQ(importer.left_out(), 2);
}

TEST(JmhTest, ForksAreRuns) {
  const std::vector<Row> rows = Read("jmh.json");
  ASSERT_EQ(rows.size(), 7);
  EXPECT_EQ(rows[0].transform(), "org.example.SortBench.sort");
  EXPECT_EQ(rows[0].scope(), "avgt");
  EXPECT_EQ(rows[0].samples_s_size(), 5);
  EXPECT_EQ(rows[2].run_index(), 2);
  EXPECT_EQ(rows[0].counters().at("__gc_alloc_rate_norm"), 272);
  JsonFile file("jmh.json");
  ExpectSame(StatisticsOf({rows[0], rows[1], rows[2]}).mean,
             1e-9 * file.At("/0/primaryMetric/score"));
  // Operations per microsecond become seconds.
  EXPECT_EQ(rows[3].scope(), "thrpt");
  EXPECT_NEAR(rows[3].throughput(), 1.23e6, 0.05e6);
  EXPECT_NE(rows[3].job_id(), rows[0].job_id());
  // A histogram is not a list of samples: the score counts.
  ExpectSame(rows[6].summary().mean_s(), 2.5e-6);
}

TEST(GoTest, LinesAreRuns) {
  const std::vector<Row> rows = Read("go.txt");
  EXPECT_THAT(Names(rows),
              ElementsAre("Empty gomaxprocs=2 6", "Sort gomaxprocs=2 n=256 6",
                          "Sort gomaxprocs=2 n=64 6"));
  EXPECT_EQ(rows[0].library(), "example.org/gobench");
  EXPECT_EQ(rows[0].items(), 2000);
  EXPECT_EQ(rows[0].counters().at("B_per_op"), 536);
  EXPECT_EQ(rows[0].counters().at("allocs_per_op"), 2);
  EXPECT_EQ(rows[0].counters().at("values_per_op"), 64);
  EXPECT_THAT(rows[0].machine_profile(), HasSubstr("_amd64"));
}

// benchstat's medians of the same file, in seconds per operation.
TEST(GoTest, MediansAreThoseOfBenchstat) {
  auto rows = ByName(Read("go.txt"));
  const auto text = ReadFile(Data("go.benchstat.csv"));
  ASSERT_TRUE(text.ok()) << text.status();
  const std::map<std::string, std::string> names = {
      {"Sort/n=64-2", "Sort gomaxprocs=2 n=64"},
      {"Sort/n=256-2", "Sort gomaxprocs=2 n=256"},
      {"Empty-2", "Empty gomaxprocs=2"}};
  int compared = 0;
  for (const auto& line : absl::StrSplit(*text, '\n')) {
    const std::vector<std::string> fields = absl::StrSplit(line, ',');
    const auto name = names.find(fields[0]);
    double median;
    if (name == names.end() || !absl::SimpleAtod(fields[1], &median)) continue;
    // The first table is of times.
    if (++compared > 3) break;
    ExpectSame(StatisticsOf(rows[name->second]).median, median);
  }
  EXPECT_GE(compared, 3);
}

TEST(Catch2Test, BenchmarksAreSummaries) {
  const std::vector<Row> rows = Read("catch2.xml");
  ASSERT_EQ(rows.size(), 2);
  EXPECT_THAT(Names(rows),
              ElementsAre("half <0> test_case=sums & products/of halves 1",
                          "sum test_case=sums & products 1"));
  EXPECT_EQ(rows[0].summary().count(), 20);
  EXPECT_GT(rows[0].summary().mean_s(), 1e-9);
  EXPECT_GT(rows[0].summary().stddev_s(), 0);
}

TEST(CsvTest, ColumnsTellTheirUnits) {
  const std::vector<Row> rows = Read("table.csv");
  EXPECT_THAT(Names(rows),
              ElementsAre("join, inner size=large 1", "parse size=large 1",
                          "parse size=small 3"));
  ExpectSame(rows[0].samples_s(0), 1.25e-3);
  EXPECT_EQ(rows[4].counters().at("errors"), 2);
}

TEST(CsvTest, TheLeastOfSeveralTimesIsNotInMinutes) {
  std::vector<Row> rows;
  Importer importer({"csv", {}}, [&rows](const Row& row) {
    rows.push_back(row);
    return absl::OkStatus();
  });
  ASSERT_TRUE(
      importer.ReadText("f", "name,time_min,time_s\na,.9,1\n", false).ok());
  ASSERT_TRUE(importer.ReadText("f", "name,time (min)\na,2\n", false).ok());
  EXPECT_FALSE(importer.ReadText("f", "name,time_min\na,2\n", false).ok());
  ASSERT_EQ(rows.size(), 2);
  ExpectSame(rows[0].samples_s(0), 1);
  EXPECT_EQ(rows[0].counters().at("time_min"), .9);
  ExpectSame(rows[1].samples_s(0), 120);
}

TEST(CsvTest, LinesThatMayBeOtherBenchmarksAreRefused) {
  std::vector<Row> rows;
  const auto read = [&rows](const std::string& text,
                            std::vector<std::string> parameters = {}) {
    rows.clear();
    Importer importer({"csv", std::move(parameters)}, [&rows](const Row& row) {
      rows.push_back(row);
      return absl::OkStatus();
    });
    return std::string(importer.ReadText("f", text, false).message());
  };
  const std::string table = "name,n,time_s\nsort,10,1\nsort,100,8\n";
  EXPECT_EQ(read(table),
            "f: line 3: is line 2 with another n: a parameter, or a result of "
            "another run? Pass --import-parameters=n or =none, or call the "
            "column parameter_n");
  EXPECT_EQ(read(table, {"n"}), "");
  EXPECT_THAT(Names(rows), ElementsAre("sort n=10 1", "sort n=100 1"));
  EXPECT_EQ(read(table, {"none"}), "");
  EXPECT_THAT(Names(rows), ElementsAre("sort 2"));
  EXPECT_EQ(rows[1].counters().at("n"), 100);
  EXPECT_EQ(read(table, {"size"}),
            "f: line 1: --import-parameters: no column is called size; there "
            "are name, n, time_s");
  // All columns that may be parameters are named at once.
  EXPECT_THAT(read("name,n,k,time_s\na,1,1,1\na,2,1,1\na,2,3,1\n"),
              HasSubstr("--import-parameters=n,k or =none"));
  // Few values that occur again and again.
  EXPECT_THAT(read("name,keep,time_s\na,.5,1\na,.25,2\na,.5,1\na,.25,2\n"),
              HasSubstr("another keep"));
  // Not: a name that says what it is, values that scatter, values that do not
  // differ within a benchmark, numbers of runs.
  EXPECT_EQ(read("name,run,cpu_time,rate,x,k,time_s\n"
                 "a,1,10,5,.11,3,1\na,2,11,6,.12,3,1\nb,1,12,7,.13,4,1\n"),
            "");
  EXPECT_THAT(Names(rows), ElementsAre("a 2", "b 1"));
  EXPECT_EQ(rows[2].counters().at("k"), 4);
  // A column is a parameter as a whole.
  EXPECT_EQ(read("name,size,time_s\na,64,1\na,1k,2\n"), "");
  EXPECT_THAT(Names(rows), ElementsAre("a size=1k 1", "a size=64 1"));
}

TEST(CsvTest, StatisticsOfGoogleBenchmarkAreNoBenchmarks) {
  std::vector<Row> rows;
  Importer importer({"", {}}, [&rows](const Row& row) {
    rows.push_back(row);
    return absl::OkStatus();
  });
  const auto read = [&](const std::string& lines) {
    rows.clear();
    return importer.ReadText(
        "f", "name,iterations,real_time,cpu_time,time_unit\n" + lines, false);
  };
  ASSERT_TRUE(read("\"a\",10,5,5,ns\n\"a\",10,6,5,ns\n\"a_mean\",2,5.5,5,ns\n"
                   "\"a_cv\",2,.01,0,ns\n\"b_mean\",1,7,7,ns\n")
                  .ok());
  EXPECT_THAT(Names(rows), ElementsAre("a 2", "b_mean 1"));
  EXPECT_EQ(importer.left_out(), 2);
  ASSERT_TRUE(read("\"a_mean\",2,5.5,5,ns\n\"a_cv\",2,.01,0,ns\n").ok());
  EXPECT_THAT(Names(rows), ElementsAre("a_mean 1"));
}

TEST(CsvTest, TablesOfOtherHarnessesAreRead) {
  const std::vector<Row> google = Read("google_benchmark.csv");
  ASSERT_EQ(google.size(), 3);
  EXPECT_EQ(google[0].transform(), "BM_sort<int>/n:64");
  EXPECT_LT(google[0].samples_s(0), 1e-3);
  const std::vector<Row> hyperfine = Read("hyperfine.csv");
  ASSERT_EQ(hyperfine.size(), 4);
  EXPECT_EQ(hyperfine[1].library(), "sh -c \"sleep 0.001\"");
  EXPECT_THAT(hyperfine[0].settings(), UnorderedElementsAre(Pair("n", "1")));
  EXPECT_GT(hyperfine[0].summary().stddev_s(), 0);
}

TEST(ImporterTest, RunsAreNumberedAcrossFiles) {
  std::vector<Row> rows;
  Importer importer({"", {}}, [&rows](const Row& row) {
    rows.push_back(row);
    return absl::OkStatus();
  });
  ASSERT_TRUE(importer.ReadPath(Data("pytest_benchmark_data.json")).ok());
  ASSERT_TRUE(importer.ReadPath(Data("pytest_benchmark_data.json")).ok());
  ASSERT_EQ(rows.size(), 4);
  EXPECT_EQ(rows[2].run_index(), 1);
  EXPECT_EQ(rows[2].job_id(), rows[0].job_id());
}

TEST(AsvTest, ManyCombinationsAreRead) {
  constexpr int kCombinations = 150000;
  const auto list = [](const std::string& value) {
    std::string text = absl::StrCat("[", value);
    for (int i = 1; i < kCombinations; ++i) absl::StrAppend(&text, ",", value);
    return absl::StrCat(text, "]");
  };
  size_t rows = 0;
  Importer importer({"asv", {}}, [&rows](const Row& row) {
    rows += row.samples_s_size() == 1 && row.items() == 3 ? 1 : 0;
    return absl::OkStatus();
  });
  const absl::Status status = importer.ReadText(
      "f",
      absl::StrCat("{\"result_columns\": [\"result\", \"params\", "
                   "\"stats_number\", \"samples\"], \"results\": "
                   "{\"time_x\": [",
                   list("1"), ",[", list("0"), "],", list("3"), ",",
                   list("[1]"), "]}}"),
      false);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(rows, kCombinations);
}

}  // namespace
}  // namespace feedrate
