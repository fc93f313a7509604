#include "lib/analysis/aggregate/run_aggregate.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/analysis/aggregate/aggregate.h"
#include "lib/analysis/rows/row_files.h"
#include "lib/base/files.h"
#include "lib/imports/albumentations.h"
#include "lib/records/job.pb.h"
#include "lib/records/job_identity.h"
#include "lib/records/record_io.h"
#include "lib/records/row.pb.h"
#include "lib/records/summary.pb.h"
#include "lib/stats/quantiles.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Aggregate MakeBare(const std::string& library, const std::string& batch_size,
                   double median) {
  Aggregate aggregate;
  (*aggregate.mutable_by())["library"] = library;
  (*aggregate.mutable_by())["batch_size"] = batch_size;
  if (median > 0) aggregate.set_median(median);
  return aggregate;
}

std::string Sorted(const std::vector<std::string>& keys) {
  std::vector<Aggregate> all = {MakeBare("b", "64", 3), MakeBare("a", "256", 2),
                                MakeBare("c", "256", 0), MakeBare("d", "8", 2)};
  EXPECT_TRUE(SortAggregates(keys, {"library", "batch_size"}, &all).ok());
  std::string order;
  for (const Aggregate& one : all) order += one.by().at("library");
  return order;
}

TEST(SortAggregatesTest, ByFieldsAndNumbers) {
  EXPECT_EQ(Sorted({}), "bacd");
  EXPECT_EQ(Sorted({"library"}), "abcd");
  EXPECT_EQ(Sorted({"-library"}), "dcba");
  // Sorts as numbers, not as text; equal ones stay in order.
  EXPECT_EQ(Sorted({"batch_size"}), "dbac");
  // Aggregates without a number come last in either order.
  EXPECT_EQ(Sorted({"median"}), "adbc");
  EXPECT_EQ(Sorted({"-median", "-library"}), "bdac");
}

TEST(SortAggregatesTest, OtherKeysAreMistakes) {
  std::vector<Aggregate> none;
  const absl::Status status = SortAggregates({"-medain"}, {"library"}, &none);
  EXPECT_THAT(std::string(status.message()), HasSubstr("--sort: \"medain\""));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("did you mean \"median\""));
}

TEST(PoliciesTest, SlowMarkersAndPrograms) {
  Policies policies("configs");
  EXPECT_EQ(policies.SlowMarker("image-rgb", "", ""), "<=20 img/s");
  EXPECT_EQ(policies.SlowMarker("video-16f", "clip", ""), "<=0.5 vid/s");
  EXPECT_EQ(policies.SlowMarker("unheard-of", "clip", ""), "<=0.5 vid/s");
  EXPECT_EQ(policies.SlowMarker("unheard-of", "token", ""), "slow");
  // The marker is that of the policy's threshold.
  EXPECT_EQ(policies.SlowMarker("image-rgb", "image",
                                "0.1 s per image over 10 in the preflight; "
                                "from 0.05 s on it counts as slow"),
            "<=20 img/s");
  EXPECT_EQ(policies.SlowMarker("image-rgb", "image",
                                "0.006 s per image over 10 in the preflight; "
                                "from 0.004 s on it counts as slow"),
            "slow");
  EXPECT_EQ(policies.ProgramFor("image-rgb", "micro"), "micro");
  EXPECT_EQ(policies.ProgramFor("video-16f", "pipeline"), "video");
}

TEST(PoliciesTest, NoPolicyIsNoMistake) {
  Policies policies("no/such/folder");
  EXPECT_EQ(policies.SlowMarker("image-rgb", "image", ""), "slow");
  EXPECT_EQ(policies.ProgramFor("image-rgb", "micro"), "micro");
}

TEST(RerunCommandTest, CanBeCopiedIntoAShell) {
  EXPECT_EQ(RerunCommand("aggregate --rerun_noisy", {"a b.jsonl"}, "micro"),
            "$ aggregate --rerun_noisy 'a b.jsonl' | micro --jobs=- >> "
            "'a b.jsonl'");
  const std::string folder = ::testing::TempDir();
  EXPECT_THAT(RerunCommand("aggregate", {folder}, "video"),
              HasSubstr("again.jsonl"));
  EXPECT_THAT(RerunCommand("aggregate", {"-"}, "video"),
              HasSubstr("save the rows as rows.jsonl, then $ aggregate "
                        "rows.jsonl | video --jobs=- >> rows.jsonl"));
}

// A row names its data set, not where it is.
TEST(RerunCommandTest, HasTheFolderOfTheRuns) {
  const std::string file = JoinPath(::testing::TempDir(), "with_data.jsonl");
  std::string records;
  const auto add = [&](const std::string& program, const std::string& flag) {
    feedrate::Run run;
    run.add_command("bin/" + program);
    run.add_command(flag);
    AppendRecord(run, &records);
    ASSERT_TRUE(WriteFileAtomically(file, records).ok());
  };
  add("micro", "--dataset=my photos");
  add("pipeline", "--dataset=elsewhere");
  EXPECT_THAT(RerunCommand("aggregate", {file}, "micro"),
              HasSubstr("| micro --jobs=- '--dataset=my photos' >> "));
  EXPECT_THAT(RerunCommand("aggregate", {file}, "pipeline"),
              HasSubstr("| pipeline --jobs=- --dataset=elsewhere >> "));
  // That of a config, and what else jobs do not have.
  feedrate::Run cold;
  cold.add_command("video");
  cold.add_command("--cold");
  cold.set_config("data {\n  dataset: \"/my/clips\"\n}\n");
  AppendRecord(cold, &records);
  ASSERT_TRUE(WriteFileAtomically(file, records).ok());
  EXPECT_THAT(RerunCommand("aggregate", {file}, "video"),
              HasSubstr("| video --jobs=- --dataset=/my/clips --cold >> "));
  // Not if there are several.
  add("micro", "--dataset=others");
  EXPECT_THAT(RerunCommand("aggregate", {file}, "micro"),
              HasSubstr("| micro --jobs=- >> "));
}

class RunsNeededTest : public ::testing::Test {
 protected:
  RunsNeededTest() : jobs_(*JobsOfRows::Create("")) {}

  void Add(const std::string& library, const std::vector<double>& throughputs) {
    Row row;
    row.set_scenario("image-rgb");
    row.set_mode("micro");
    row.set_library(library);
    row.set_transform("Blur");
    row.set_device("cpu");
    row.set_params_sha256("ab");
    row.set_status("ok");
    row.mutable_equivalence()->set_label("exact");
    row.set_duration_s(2);
    Job job;
    job.set_scenario("image-rgb");
    job.set_mode("micro");
    job.set_library(library);
    job.set_transform("Blur");
    job.set_device("cpu");
    job.set_params_sha256("ab");
    row.set_job_id(JobId(job));
    for (const double throughput : throughputs) {
      row.set_throughput(throughput);
      rows_.push_back(row);
      jobs_.Add(row);
      row.set_run_index(row.run_index() + 1);
    }
  }

  std::vector<CloseCall> Calls() {
    AggregateOptions options;
    options.by = by_;
    auto aggregator = RowAggregator::Create(options);
    for (const Row& row : rows_) EXPECT_TRUE((*aggregator)->Add(row).ok());
    result_ = *(*aggregator)->Finish();
    return CloseCalls(result_.aggregates);
  }

  const std::vector<std::string> by_ = {"library", "transform"};
  JobsOfRows jobs_;
  std::vector<Row> rows_;
  AggregateResult result_;
};

TEST_F(RunsNeededTest, OtherWorkIsNoRival) {
  Add("a", {100});
  Add("b", {100});
  rows_[1].mutable_equivalence()->set_label("different");
  EXPECT_THAT(Calls(), IsEmpty());
}

TEST_F(RunsNeededTest, DisturbedRunsAreMeasuredAgain) {
  Add("a", {100, 101, 102});
  EXPECT_THAT(jobs_.Disturbed(), IsEmpty());
  Row row = rows_[1];
  row.set_run_index(7);
  row.add_warnings("contended");
  jobs_.Add(row);
  ASSERT_THAT(jobs_.Disturbed(), SizeIs(1));
  EXPECT_EQ(jobs_.Disturbed()[0].job_id(), row.job_id());
  // What rows do not say comes from their run.
  EXPECT_FALSE(jobs_.Disturbed()[0].disable_slow_skip());
  feedrate::Run run;
  run.set_run_id(row.run_id());
  run.set_config("execution { disable_slow_skip: true preflight_items: 5 }");
  jobs_.AddRun(run);
  EXPECT_TRUE(jobs_.Disturbed()[0].disable_slow_skip());
  EXPECT_EQ(jobs_.Disturbed()[0].preflight_items(), 5);
  EXPECT_THAT(jobs_.Disturbed()[0].run_indexes(), ElementsAre(7));
  // A clean attempt settles it, an even noisier one does not.
  row.add_warnings("noisy");
  jobs_.Add(row);
  EXPECT_THAT(jobs_.Disturbed(), SizeIs(1));
  row.clear_warnings();
  jobs_.Add(row);
  EXPECT_THAT(jobs_.Disturbed(), IsEmpty());
}

TEST_F(RunsNeededTest, OneRunAsksForThree) {
  Add("a", {100});
  Add("b", {900});
  const std::vector<CloseCall> calls = Calls();
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].faster->by().at("library"), "b");
  EXPECT_EQ(calls[0].runs, 3);
  const std::vector<Job> jobs = jobs_.Missing(calls, by_);
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_EQ(jobs[0].library(), "b");
  EXPECT_THAT(jobs[0].run_indexes(), ElementsAre(1, 2));
  EXPECT_EQ(jobs[0].cost_s(), 4);
  // The job id is unchanged, so that plan and runners recognize the job.
  EXPECT_EQ(jobs[0].job_id(), JobId(jobs[0]));
  EXPECT_EQ(jobs[0].output(), "image-rgb/micro/b_micro_results.jsonl");
}

TEST_F(RunsNeededTest, ClearCallsNeedNone) {
  Add("a", {100, 101, 102});
  Add("b", {200, 201, 202});
  EXPECT_THAT(Calls(), IsEmpty());
}

TEST_F(RunsNeededTest, CloserCallsNeedMore) {
  // About 5% deviation and 12% apart: the t value decreases quickly with more
  // runs.
  Add("a", {95, 100, 105});
  Add("b", {107, 112, 117});
  std::vector<CloseCall> calls = Calls();
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].runs, 5);
  EXPECT_THAT(jobs_.Missing(calls, by_)[0].run_indexes(), ElementsAre(3, 4));
  // 2% apart.
  Add("c", {108, 114, 120});
  calls = Calls();
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].faster->by().at("library"), "c");
  EXPECT_EQ(calls[0].runs, 0);
  // b is in both calls but listed once.
  EXPECT_EQ(jobs_.Missing(calls, by_).size(), 2u);
}

constexpr char kFile[] = R"({
  "metadata": {
    "system_info": {"processor": "Intel Xeon 8481C", "cpu_count": "16",
                    "timestamp": "2026-01-02T03:04:05+00:00"},
    "library_versions": {"Kornia": "0.8.2", "numpy": "2.4.4"},
    "dataset": {"available": true, "path": "/data/imagenet-val/",
                "file_count": 2000, "total_bytes": 123456},
    "scenario": "image-rgb", "mode": "pipeline", "library": "kornia",
    "decoder": null,
    "benchmark_params": {"num_images": 2000, "num_runs": 5, "batch_size": 256,
                         "workers": 8,
                         "pipeline_scope": "memory_dataloader_augment",
                         "device": "none", "thread_policy": "pipeline-default"}
  },
  "results": {
    "Blur": {"status": "ok", "supported": true,
             "throughputs": [812.5, 790.25, 845.0, 801.75, 799.5],
             "median_throughput": 801.75},
    "Snow": {"status": "ok", "supported": true, "throughputs": [],
             "median_throughput": 4.5, "early_stopped": true,
             "early_stop_reason": "0.22 s per image"},
    "Text": {"status": "unsupported", "supported": false,
             "reason": "no such op",
             "throughputs": [], "median_throughput": 0},
    "Fog": {"status": "error", "error": "bang", "throughputs": []},
    "Flip": {"status": "ok", "supported": true, "median_throughput": 12.5},
    "Odd": {"status": "ok", "supported": true, "throughputs": []}
  }
})";

std::vector<Row> Import(const std::string& content,
                        const std::string& name = "f.json") {
  std::vector<Row> rows;
  const absl::Status status =
      ImportAlbumentations(name, content, [&](const Row& row) {
        rows.push_back(row);
        return absl::OkStatus();
      });
  EXPECT_TRUE(status.ok()) << status;
  return rows;
}

TEST(ImportAlbumentationsTest, RowsHoldTheMediansOfTheFile) {
  const std::vector<Row> rows = Import(kFile);
  ASSERT_EQ(rows.size(), 10u);
  std::vector<double> throughputs;
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(rows[i].transform(), "Blur");
    EXPECT_EQ(rows[i].run_index(), i);
    EXPECT_EQ(rows[i].status(), "ok");
    throughputs.push_back(rows[i].throughput());
  }
  EXPECT_EQ(Median(throughputs), 801.75);
  EXPECT_EQ(rows[8].throughput(), 12.5);
}

TEST(ImportAlbumentationsTest, WhatTheFileKnowsIsInTheRow) {
  const Row row = Import(kFile)[0];
  EXPECT_EQ(row.scenario(), "image-rgb");
  EXPECT_EQ(row.mode(), "pipeline");
  EXPECT_EQ(row.scope(), "memory_dataloader_augment");
  EXPECT_EQ(row.device(), "cpu");
  EXPECT_EQ(row.batch_size(), 256);
  EXPECT_EQ(row.workers(), 8);
  EXPECT_EQ(row.num_items(), 2000);
  EXPECT_EQ(row.library_version(), "0.8.2");
  EXPECT_EQ(row.machine_profile(), "public:intel-xeon-8481c_16c");
  EXPECT_EQ(row.dataset().id(), "imagenet-val");
  EXPECT_EQ(row.unit(), "image");
  EXPECT_EQ(row.job_id().size(), 16u);
  EXPECT_NEAR(row.elapsed_s(), 2000 / 812.5, 1e-12);
}

TEST(ImportAlbumentationsTest, WhatWasNotMeasuredKeepsItsReason) {
  const std::vector<Row> rows = Import(kFile);
  EXPECT_EQ(rows[5].status(), "early_stopped");
  EXPECT_EQ(rows[5].reason(), "0.22 s per image");
  EXPECT_EQ(rows[6].status(), "unsupported");
  EXPECT_EQ(rows[6].reason(), "no such op");
  EXPECT_EQ(rows[7].status(), "failed");
  EXPECT_EQ(rows[7].reason(), "bang");
  EXPECT_EQ(rows[9].status(), "failed");
}

// A result file of the public benchmark from before it had scenarios.
constexpr char kOldFile[] = R"({
  "metadata": {"system_info": {"processor": "arm"},
               "benchmark_params": {"num_images": 2000%s}},
  "results": {"Blur": {"supported": true, "throughputs": [2, 1, 3]}}})";

std::string OldFile(const std::string& params = "") {
  return absl::StrReplaceAll(kOldFile, {{"%s", params}});
}

TEST(ImportAlbumentationsTest, TheNameSaysWhatTheFileDoesNot) {
  struct Case {
    const char* name;
    const char* library;
    const char* scenario;
    const char* device;
  };
  for (const Case& expected :
       {Case{"a_b/kornia_micro_results.json", "kornia", "image-rgb", "cpu"},
        {"albumentations_mit_results.json", "albumentations_mit", "image-rgb",
         "cpu"},
        {"torchvision_video_results.json", "torchvision", "video-16f", "cpu"},
        {"kornia_micro_dev-cuda_results.json", "kornia", "image-rgb", "cuda"},
        {"pillow_memory_dataloader_augment_n10000_r2_w8_b256_results.json",
         "pillow", "image-rgb", "cpu"},
        {"dali_decode_dataloader_augment_nall_r1_w8_b16_dev-cuda_results.json",
         "dali", "image-rgb", "cuda"}}) {
    const std::vector<Row> rows = Import(OldFile(), expected.name);
    ASSERT_EQ(rows.size(), 3u) << expected.name;
    EXPECT_EQ(rows[0].library(), expected.library) << expected.name;
    EXPECT_EQ(rows[0].scenario(), expected.scenario) << expected.name;
    EXPECT_EQ(rows[0].device(), expected.device) << expected.name;
    EXPECT_EQ(rows[0].mode(), "micro") << expected.name;
  }
  const std::string nine = OldFile(", \"num_channels\": 9");
  EXPECT_EQ(Import(nine, "kornia_results.json")[0].scenario(), "image-9ch");
  EXPECT_EQ(Import(kFile, "pillow_micro_results.json")[0].library(), "kornia")
      << "the file knows better than its name";
}

// Without a library, rows of several look like retries of the same job.
TEST(ImportAlbumentationsTest, AFileOfNoLibraryIsRefused) {
  const auto ignore = [](const Row&) { return absl::OkStatus(); };
  for (const char* name : {"f.json", "results.json", "_results.json",
                           "video_results.json", "dev-cuda_results.json"}) {
    const absl::Status status = ImportAlbumentations(name, OldFile(), ignore);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("it names no library; add \"metadata.library\""))
        << name;
  }
}

TEST(ImportAlbumentationsTest, AbsurdNumbersAreRefused) {
  const auto ignore = [](const Row&) { return absl::OkStatus(); };
  const auto message = [&](const std::string& content) {
    return std::string(
        ImportAlbumentations("kornia_results.json", content, ignore).message());
  };
  EXPECT_THAT(message(OldFile(", \"batch_size\": 1e300")),
              HasSubstr("\"batch_size\" is 1e+300, which is no count"));
  EXPECT_THAT(message(OldFile(", \"workers\": -1")),
              HasSubstr("\"workers\" is -1, which is no count"));
  EXPECT_THAT(message(absl::StrReplaceAll(OldFile(), {{"[2,", "[-2,"}})),
              HasSubstr("Blur: a throughput is no number above 0"));
}

TEST(ImportAlbumentationsTest, OtherFilesAreNamed) {
  const auto ignore = [](const Row&) { return absl::OkStatus(); };
  for (const char* content : {"", "[]", "{}", "{\"metadata\":{}}",
                              "{\"metadata\":{},\"results\":{\"a\":3}}"}) {
    const absl::Status status = ImportAlbumentations("f.json", content, ignore);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("f.json: not a result file"))
        << content;
  }
  EXPECT_TRUE(IsAlbumentationsResult("a/kornia_micro_results.json"));
  EXPECT_FALSE(IsAlbumentationsResult("a/kornia.pyperf.json"));
  EXPECT_FALSE(IsAlbumentationsResult("a/manifest.json"));
  EXPECT_FALSE(IsAlbumentationsResult("a/run_meta.json"));
}

}  // namespace
}  // namespace feedrate
