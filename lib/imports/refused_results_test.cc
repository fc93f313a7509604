#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/imports/imports.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(ImporterTest, BadInputIsNamedWithItsPlace) {
  const auto google = [](const std::string& entry) {
    return absl::StrCat(
        "{\"context\": {\"executable\": \"x\"}, \"benchmarks\": [", entry,
        "]}");
  };
  const std::vector<std::vector<std::string>> cases = {
      {"", "hello", "not the result of a known harness"},
      {"", google("{\"name\": \"a\", \"real_time\": 1},\n{\"name\": "),
       "f: line 2: broken JSON"},
      {"", google("3"), "f: benchmarks[0]: is not an object"},
      {"", google("{\"name\": \"a\", \"time_unit\": \"ns\"}"),
       "benchmarks[0]: (a) has no \"real_time\""},
      {"", google("{\"name\": \"a\", \"real_time\": 1, \"time_unit\": \"h\"}"),
       "unknown \"time_unit\""},
      {"google_benchmark", "{}", "no list \"benchmarks\""},
      {"pytest_benchmark", "[]", "not a result of pytest_benchmark"},
      {"pyperf", "{\"benchmarks\": [{\"runs\": [{\"values\": [\"a\"]}]}]}",
       "benchmarks[0].runs[0]: \"values\"[0] is \"a\", which is not a number"},
      {"hyperfine", "{\"results\": [{}]}", "results[0]: has no \"command\""},
      {"jmh", "[{\"benchmark\": \"b\"}]",
       "[0]: has no object \"primaryMetric\""},
      {"asv", "{\"results\": {}}", "no \"result_columns\""},
      {"criterion", "{\"iters\": [1], \"times\": []}", "f: sample.json"},
      {"go", "BenchmarkA-2 100 x ns/op\n", "line 1: \"x\" is not a number"},
      {"catch2", "<Catch>\n<TestCase name=\"a\">\n<BenchmarkResults nam",
       "f: line 3: broken XML"},
      {"catch2", "<Catch>\n<TestCase name=\"a\">\n", "ends in the middle"},
      {"csv", "name,time_s\na,1\nb,x\n",
       "f: line 3: \"x\" is not a number in column time_s"},
      {"csv", "name,time_s\na\n", "f: line 2: 1 fields, but the header has 2"},
      {"csv", "a,b\n1,2\n", "f: line 1: no column"},
      // The rest of the table is not a part of the last note.
      {"csv", "name,time_s,note\na,1,x\nb,2,\"y\nc,3,z\n",
       "f: line 3: a quote is not closed"},
      {"csv", "name,size,size,time_s\na,s,x,1\na,l,x,2\n",
       "f: line 1: two columns are called size"},
      {"",
       google("{\"name\": \"a\", \"aggregate_name\": \"mean\", "
              "\"real_time\": 1, \"time_unit\": \"h\"}"),
       "unknown \"time_unit\""},
      {"go",
       absl::StrCat("pkg: ", std::string(20000, 'x'), "\nBenchmarkA 1 1 ",
                    "ns/op\n"),
       "f: A: the names in a result have 20004 bytes"},
  };
  for (const std::vector<std::string>& each : cases) {
    Importer importer({each[0], {}},
                      [](const Row&) { return absl::OkStatus(); });
    const absl::Status status = importer.ReadText("f", each[1], false);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << each[1];
    EXPECT_THAT(std::string(status.message()), StartsWith("f: ")) << each[1];
    EXPECT_THAT(std::string(status.message()), HasSubstr(each[2]));
  }
}

// Readers disagree about which of two values counts, and a number that is text
// is not absent: each of these made a slowdown pass.
TEST(ImporterTest, WhatIsSaidTwiceOrAsTextIsRefused) {
  const std::string pytest = "{\"benchmarks\": [{\"fullname\": \"t\", ";
  const std::string asv =
      "{\"result_columns\": [\"result\", \"params\", \"samples\"], "
      "\"results\": {\"time_x\": ";
  const std::vector<std::vector<std::string>> cases = {
      {"pytest_benchmark",
       pytest + "\"stats\": {\"data\": [1]}, \"stats\": {\"data\": [5]}}]}",
       "benchmarks[0].stats: is there twice"},
      {"pytest_benchmark",
       pytest + "\"stats\": {\"data\": [1], \"data\": [5]}}]}",
       "benchmarks[0].stats.data: is there twice"},
      {"pytest_benchmark", "{\"benchmarks\": [], \"benchmarks\": []}",
       "f: benchmarks: is there twice"},
      {"pytest_benchmark",
       pytest + "\"stats\": {\"mean\": \"fast\", \"median\": 1}}]}",
       "benchmarks[0].stats: \"mean\" is \"fast\", which is not a number"},
      {"pytest_benchmark",
       pytest + "\"stats\": {\"data\": \"fast\", \"median\": 1}}]}",
       "\"data\" is \"fast\", which is not a list"},
      {"google_benchmark",
       "{\"benchmarks\": [{\"name\": \"a\", \"real_time\": 1, "
       "\"cpu_time\": \"1\"}]}",
       "benchmarks[0]: \"cpu_time\" is \"1\", which is not a number"},
      {"hyperfine",
       "{\"results\": [{\"command\": \"c\", \"mean\": 1, \"times\": "
       "[5, \"5\"]}]}",
       "results[0]: \"times\"[1] is \"5\", which is not a number"},
      {"hyperfine", "{\"results\": [{\"command\": \"c\", \"mean\": true}]}",
       "\"mean\" is true, which is not a number"},
      {"jmh",
       "[{\"benchmark\": \"b\", \"primaryMetric\": {\"score\": 1, "
       "\"scoreUnit\": \"s/op\", \"rawData\": [[\"5\"]]}}]",
       "[0]: \"rawData\"[0] is \"5\", which is not a number"},
      {"criterion", "{\"iters\": [1], \"times\": [\"1\"]}",
       "f: sample.json: \"times\"[0]"},
      {"criterion", "{\"mean\": {\"point_estimate\": \"1\"}}",
       "f: estimates.json: mean: \"point_estimate\" is \"1\""},
      {"nvbench",
       "{\"benchmarks\": [{\"name\": \"n\", \"states\": [{\"summaries\": "
       "[{\"tag\": \"nv/cold/time/gpu/mean\", \"data\": [{\"name\": "
       "\"value\", \"value\": \"fast\"}]}]}]}]}",
       "f: n: nv/cold/time/gpu/mean is \"fast\", which is not a number"},
      {"asv", asv + "[[1, 2], [[\"a\"]]]}}",
       "results.time_x: \"result\" has 2 values, but the parameters have 1 "
       "combination"},
      {"asv", asv + "[[1], [[\"a\", \"b\"]]]}}",
       "\"result\" has 1 value, but the parameters have 2 combinations"},
      {"asv", asv + "[[1], [[\"a\"]], [[1], [2]]]}}",
       "\"samples\" has 2 values"},
      {"asv", asv + "[[1], [[\"a\"]], [[\"1\"]]]}}",
       "results.time_x: \"samples\"[0] is \"1\", which is not a number"},
      {"asv", asv + "[[\"fast\"], [[\"a\"]]]}}",
       "\"result\" is \"fast\", which is not a number"},
      {"asv", asv + "[[1], [[\"a\"]], null, 4]}}",
       "has more values than the 3 \"result_columns\""},
      {"csv", "name,time_s,iterations\na,1,many\n",
       "line 2: \"many\" is not a number in column iterations"},
      // Readers of text skip lines that they do not know.
      {"go",
       "goos: linux\nBenchmarkX-2 100 5 ns/op\n"
       "{\"schema\":1,\"record\":\"row\",\"throughput\":1}\n",
       "f: holds results of go beside records of feedrate"},
      {"", "\x1f\x8b\x08rest", "f: is compressed with gzip; unpack it first"},
      {"albumentations",
       "{\"metadata\": {\"library\": \"l\"}, \"results\": {\"Flip\": "
       "{\"throughputs\": [1], \"throughputs\": [5]}}}",
       "results.Flip.throughputs is there twice"},
      {"albumentations",
       "{\"metadata\": {\"library\": \"l\"}, \"results\": {\"Flip\": "
       "{\"throughputs\": \"1\", \"median_throughput\": 5}}}",
       "\"throughputs\" is not a list"},
  };
  for (const std::vector<std::string>& each : cases) {
    Importer importer({each[0], {}},
                      [](const Row&) { return absl::OkStatus(); });
    const absl::Status status = importer.ReadText("f", each[1], false);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << each[1];
    EXPECT_THAT(std::string(status.message()), HasSubstr(each[2])) << each[1];
  }
}

TEST(ImporterTest, NumbersThatNoTimeHasAreNotBelieved) {
  std::vector<Row> rows;
  const auto read = [&rows](const std::string& harness,
                            const std::string& text) {
    Importer importer({harness, {}}, [&rows](const Row& row) {
      rows.push_back(row);
      return absl::OkStatus();
    });
    const absl::Status status = importer.ReadText("f", text, false);
    EXPECT_TRUE(status.ok()) << status;
  };
  read("catch2",
       "<Catch><BenchmarkResults name=\"b\" samples=\"9000000000000000000\">"
       "<mean value=\"1e308\"/></BenchmarkResults></Catch>");
  read("hyperfine",
       "{\"results\": [{\"command\": \"c\", \"mean\": NaN, \"median\": 1}]}");
  read("nvbench",
       "Benchmark,Device,Device Name,Skipped,Samples,GPU Time (sec)\n"
       "x,0,H,No,-1e300,0.5\n");
  ASSERT_EQ(rows.size(), 3);
  EXPECT_EQ(rows[0].status(), "failed");
  EXPECT_FALSE(rows[0].has_summary());
  EXPECT_EQ(rows[1].summary().mean_s(), 0);
  EXPECT_EQ(rows[1].throughput(), 1);
  EXPECT_EQ(rows[2].summary().count(), 0);
}

// Looks once at each combination of parameters; looking from the start each
// time would take minutes.

TEST(ImporterTest, AFolderWithoutResultsIsNamed) {
  Importer importer({"jmh", {}}, [](const Row&) { return absl::OkStatus(); });
  const absl::Status status = importer.ReadPath("lib/imports/testdata/asv");
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("no result of jmh in this folder"));
}

// The rest of the samples were taken for all.
TEST(ImporterTest, ACutFileOfSamplesIsRefused) {
  const std::string folder = ::testing::TempDir() + "/cut";
  std::filesystem::create_directories(folder + "/nvbench.json-bin");
  for (const char* const file : {"nvbench.json", "nvbench.json-bin/0.bin"}) {
    std::filesystem::copy_file(absl::StrCat("lib/imports/testdata/", file),
                               JoinPath(folder, file));
  }
  const std::string samples = folder + "/nvbench.json-bin/0.bin";
  std::filesystem::permissions(samples, std::filesystem::perms::owner_all);
  std::filesystem::resize_file(samples, 12);
  Importer importer({"nvbench", {}},
                    [](const Row&) { return absl::OkStatus(); });
  const absl::Status status = importer.ReadPath(folder + "/nvbench.json");
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("its file of samples has 3 of 20"));
}

}  // namespace
}  // namespace feedrate
