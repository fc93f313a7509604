#include "lib/analysis/coverage/planned_jobs.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/analysis/coverage/measured_runs.h"
#include "lib/analysis/testing/synthetic_rows.h"
#include "lib/base/files.h"
#include "lib/catalogue/catalogue.h"
#include "lib/records/env.pb.h"
#include "lib/records/job.pb.h"
#include "lib/records/job_identity.h"
#include "lib/records/json.h"
#include "lib/records/row.pb.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Job MakeJob(int batch_size) {
  Job job;
  job.set_scenario("image-rgb");
  job.set_mode("pipeline");
  job.set_scope("memory_dataloader_augment");
  job.set_library("kornia");
  job.set_transform("Blur");
  job.set_device("cpu");
  job.set_batch_size(batch_size);
  job.set_hardware_class("cpu");
  (*job.mutable_settings())["prefetch"] = "2";
  (*job.mutable_settings())["pin_memory"] = "1";
  job.add_run_indexes(0);
  job.set_job_id(JobId(job));
  return job;
}

Row MakeRow(const Job& job) { return SyntheticRows({}).MakeRow(job, 0); }

TEST(PlannedJobsTest, AJobTwiceAddsItsRuns) {
  PlannedJobs jobs;
  Job job = MakeJob(256);
  jobs.Add(job);
  job.add_run_indexes(2);
  jobs.Add(job);
  ASSERT_EQ(jobs.size(), 1);
  EXPECT_THAT(jobs.Get(0).run_indexes(), ElementsAre(0, 2));
  EXPECT_EQ(jobs.total_runs(), 2);
  EXPECT_TRUE(jobs.HasRun(0, 2));
  EXPECT_FALSE(jobs.HasRun(0, 1));
  Row row = MakeRow(job);
  EXPECT_EQ(jobs.Find(row), 0);
  row.set_job_id("other");
  EXPECT_EQ(jobs.Find(row), -1);
}

TEST(PlannedJobsTest, AJobOnBothKindsOfMachineIsTwoJobs) {
  PlannedJobs jobs;
  const Job on_cpu = MakeJob(256);
  Job on_host = on_cpu;
  on_host.set_hardware_class("host_cpu");
  ASSERT_EQ(on_host.job_id(), on_cpu.job_id());
  jobs.Add(on_cpu);
  // A row of the other kind of machine is judged with the one job there is.
  EXPECT_EQ(jobs.Find(MakeRow(on_host)), 0);
  jobs.Add(on_host);
  EXPECT_EQ(jobs.total_runs(), 2);
  EXPECT_EQ(jobs.Find(MakeRow(on_cpu)), 0);
  EXPECT_EQ(jobs.Find(MakeRow(on_host)), 1);
  EXPECT_THAT(Subject(jobs.Get(1)), HasSubstr(" host_cpu kornia "));
}

TEST(PlannedJobsTest, ARowOfTheJobHasNoDifference) {
  PlannedJobs jobs;
  const Job job = MakeJob(256);
  jobs.Add(job);
  EXPECT_EQ(jobs.Difference(0, MakeRow(job)), "");
}

TEST(PlannedJobsTest, DifferencesAreNamed) {
  PlannedJobs jobs;
  const Job job = MakeJob(256);
  jobs.Add(job);
  Row row = MakeRow(job);
  row.set_seed(3);
  row.set_batch_size(128);
  EXPECT_EQ(jobs.Difference(0, row), "batch_size is 128, planned is 256");
  row = MakeRow(job);
  row.set_library("pillow");
  EXPECT_EQ(jobs.Difference(0, row), "library is pillow, planned is kornia");
  row = MakeRow(job);
  (*row.mutable_settings())["prefetch"] = "4";
  EXPECT_EQ(jobs.Difference(0, row),
            "settings is pin_memory=1,prefetch=4, planned is "
            "pin_memory=1,prefetch=2");
}

TEST(PlannedJobsTest, WhatARowLeavesOutIsNotHeldAgainstIt) {
  PlannedJobs jobs;
  const Job job = MakeJob(256);
  jobs.Add(job);
  Row row = MakeRow(job);
  row.clear_thread_policy();
  row.clear_settings();
  EXPECT_EQ(jobs.Difference(0, row), "");
  Row bare;
  bare.set_job_id(job.job_id());
  EXPECT_EQ(jobs.Difference(0, bare), "");
}

TEST(PlannedJobsTest, FindsTheJobThatARowShouldHaveBeenOf) {
  PlannedJobs jobs;
  jobs.Add(MakeJob(256));
  jobs.Add(MakeJob(64));
  EXPECT_EQ(jobs.FindCell(MakeRow(MakeJob(128))), 0);
  EXPECT_EQ(jobs.FindCell(MakeRow(MakeJob(64))), 1);
  Job other = MakeJob(128);
  other.set_transform("Rotate");
  EXPECT_EQ(jobs.FindCell(MakeRow(other)), -1);
}

TEST(PlannedJobsTest, SubjectNamesWhatTellsJobsApart) {
  EXPECT_EQ(Subject(MakeJob(256)),
            "image-rgb pipeline memory_dataloader_augment cpu kornia Blur b256 "
            "pin_memory=1,prefetch=2");
}

const Catalogue& CheckedInCatalogue() {
  static const auto& catalogue = *new Catalogue(*Catalogue::Load("configs"));
  return catalogue;
}

CoveragePlanOptions Options(const std::string& profile) {
  CoveragePlanOptions options;
  const auto path = FindProfile(profile, "configs");
  EXPECT_TRUE(path.ok()) << path.status();
  options.profile = *path;
  return options;
}

std::vector<Job> JobsOf(const CoveragePlanOptions& options) {
  const auto jobs = LoadCoveragePlan(options, CheckedInCatalogue());
  EXPECT_TRUE(jobs.ok()) << jobs.status();
  std::vector<Job> all;
  for (int i = 0; i < jobs->size(); ++i) all.push_back(jobs->Get(i));
  return all;
}

std::string ErrorOf(const CoveragePlanOptions& options) {
  return std::string(
      LoadCoveragePlan(options, CheckedInCatalogue()).status().message());
}

std::string Write(const std::string& name, const std::string& content) {
  const std::string path = ::testing::TempDir() + "/" + name;
  EXPECT_TRUE(WriteFileAtomically(path, content).ok());
  return path;
}

TEST(CoveragePlanTest, RamReducedHasNeitherVideoNorDecoding) {
  std::set<std::string> scenarios;
  std::set<std::string> scopes;
  for (const Job& job : JobsOf(Options("ram-reduced"))) {
    scenarios.insert(job.scenario());
    scopes.insert(job.scope());
  }
  EXPECT_THAT(scenarios, ElementsAre("image-9ch", "image-rgb"));
  EXPECT_THAT(scopes,
              ElementsAre("augmentation_only", "memory_dataloader_augment"));
}

TEST(CoveragePlanTest, FullPaperHasBothScopesOnTheCpu) {
  // Scopes of the loaders, by scenario.
  std::map<std::string, std::set<std::string>> cpu;
  std::map<std::string, std::set<std::string>> cuda;
  std::set<std::string> libraries;
  for (const Job& job : JobsOf(Options("full-paper"))) {
    libraries.insert(job.library());
    if (job.mode() != "pipeline") continue;
    (job.device() == "cpu" ? cpu : cuda)[job.scenario()].insert(job.scope());
  }
  for (const char* scenario : {"image-rgb", "image-9ch", "video-16f"}) {
    EXPECT_THAT(cpu[scenario], ElementsAre("decode_dataloader_augment",
                                           "memory_dataloader_augment"));
    EXPECT_THAT(cuda[scenario], ElementsAre("memory_dataloader_augment"));
  }
  EXPECT_THAT(libraries, ElementsAre("albumentationsx", "kornia", "pillow",
                                     "torchvision"));
}

TEST(CoveragePlanTest, DaliIsOwedOnlyWhenAskedForAndOnlyDecoding) {
  CoveragePlanOptions options = Options("full-paper");
  options.require_optional_libraries = true;
  std::set<std::string> scopes;
  std::set<std::string> copied;
  std::set<std::string> on_host;
  int running = 0;
  for (const Job& job : JobsOf(options)) {
    if (job.scope().find("batch_copy") != std::string::npos) {
      copied.insert(job.library());
    }
    if (job.hardware_class() == "host_cpu") {
      on_host.insert(job.library() + " " + job.mode());
    }
    if (job.library() != "dali") continue;
    scopes.insert(job.scenario() + " " + job.scope());
    running += !job.has_unsupported_reason();
  }
  EXPECT_THAT(scopes, ElementsAre("video-16f decode_dataloader_augment"));
  // The matrix maps seven, of which five build.
  EXPECT_EQ(running, 5);
  EXPECT_THAT(copied, ElementsAre("albumentationsx", "kornia", "torchvision"));
  EXPECT_THAT(on_host,
              ElementsAre("albumentationsx micro", "albumentationsx pipeline"));

  std::vector<std::string> warnings;
  options = Options("ram-reduced");
  options.require_optional_libraries = true;
  options.warn = [&](const std::string& text) { warnings.push_back(text); };
  JobsOf(options);
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("nothing of optional")));
}

TEST(CoveragePlanTest, RunsCanBeAskedFor) {
  CoveragePlanOptions options = Options("ram-reduced");
  EXPECT_THAT(JobsOf(options)[0].run_indexes(), ElementsAre(0, 1, 2, 3, 4));
  options.num_runs = 3;
  EXPECT_THAT(JobsOf(options)[0].run_indexes(), ElementsAre(0, 1, 2));
}

TEST(CoveragePlanTest, NamesAreSpelledWithHyphensOrUnderscores) {
  EXPECT_EQ(*FindProfile("full-paper", "configs"),
            "configs/coverage/full_paper.textproto");
  EXPECT_EQ(*FindProfile("full_paper", "configs"),
            "configs/coverage/full_paper.textproto");
  EXPECT_EQ(*FindProfile("mine.textproto", "configs"), "mine.textproto");
  EXPECT_THAT(FindProfile("full-papre", "configs").status().message(),
              HasSubstr("did you mean \"full-paper\"?"));
}

TEST(CoveragePlanTest, MistakesNameThePlace) {
  CoveragePlanOptions options;
  options.profile = Write("a.textproto", "description: \"x\"\nentries {}\n");
  EXPECT_THAT(ErrorOf(options), HasSubstr("a.textproto:2:1: entries[0]: has"));
  options.profile = Write("b.textproto", "entrys {}\n");
  EXPECT_THAT(ErrorOf(options), HasSubstr("did you mean \"entries\""));
  options.profile = Write("c.textproto", "description: \"x\"\n");
  EXPECT_THAT(ErrorOf(options), HasSubstr("there are none"));
  options.profile =
      Write("d.textproto",
            "description: \"x\"\nentries { config: \"no_such.textproto\" }\n");
  EXPECT_THAT(ErrorOf(options), HasSubstr("no_such.textproto"));
}

std::string PlanOf(const std::vector<Job>& jobs) {
  std::string text;
  for (const Job& job : jobs) AppendRecord(job, &text);
  return text;
}

TEST(CoveragePlanTest, APlanIsReadBack) {
  std::vector<Job> jobs = JobsOf(Options("ram-reduced"));
  jobs.resize(5);
  CoveragePlanOptions options;
  options.plan = Write("jobs.jsonl", PlanOf(jobs));
  const std::vector<Job> back = JobsOf(options);
  ASSERT_EQ(back.size(), 5);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(back[i].ShortDebugString(), jobs[i].ShortDebugString());
  }
}

// Otherwise nobody would notice that a job is missing.
TEST(CoveragePlanTest, ABrokenPlanIsAnError) {
  std::vector<Job> jobs = JobsOf(Options("ram-reduced"));
  jobs.resize(2);
  const std::string text = PlanOf(jobs);
  CoveragePlanOptions options;
  options.plan = Write("torn.jsonl", text.substr(0, text.size() - 9));
  EXPECT_THAT(ErrorOf(options), HasSubstr("torn.jsonl:2: skipped the torn"));
  jobs[0].set_batch_size(7);
  options.plan = Write("forged.jsonl", PlanOf(jobs));
  EXPECT_THAT(ErrorOf(options), HasSubstr("forged.jsonl:1: job_id"));
  options.plan = Write("empty.jsonl", "");
  EXPECT_THAT(ErrorOf(options), HasSubstr("no job in this plan"));
}

Job MakeJob() {
  Job job;
  job.set_scenario("video-16f");
  job.set_mode("micro");
  job.set_library("albumentationsx");
  job.set_transform("Blur");
  job.set_device("cpu");
  job.set_num_items(10);
  job.set_hardware_class("cpu");
  job.add_run_indexes(0);
  job.set_job_id(JobId(job));
  return job;
}

class MeasuredRunsTest : public ::testing::Test {
 protected:
  MeasuredRunsTest() : job_(MakeJob()) {
    jobs_.Add(job_);
    SyntheticRowOptions options;
    options.early_stopped = 0;
    row_ = SyntheticRows(options).MakeRow(job_, 0);
  }

  Job job_;
  PlannedJobs jobs_;
  Row row_;
};

TEST_F(MeasuredRunsTest, KeepsTheLastAttemptInAnyOrder) {
  for (const bool forwards : {true, false}) {
    MeasuredRuns measured(jobs_, "");
    Row first = row_;
    first.set_status("oom");
    Row second = row_;
    second.set_attempt(1);
    measured.AddRow(forwards ? first : second, 0, "f", 1);
    measured.AddRow(forwards ? second : first, 0, "f", 2);
    ASSERT_EQ(measured.runs(0).size(), 1);
    EXPECT_EQ(measured.Text(measured.runs(0)[0].status), "ok");
    EXPECT_EQ(measured.Place(measured.runs(0)[0]), forwards ? "f:2" : "f:1");
    EXPECT_EQ(measured.replaced_rows(), 1);
    EXPECT_FALSE(measured.FindTies(0, measured.runs(0)[0]).has_value());
  }
}

TEST_F(MeasuredRunsTest, RowsOfOneAttemptAreTied) {
  MeasuredRuns measured(jobs_, "");
  measured.AddRow(row_, 0, "f", 1);
  measured.AddRow(row_, 0, "g", 1);
  absl::optional<Ties> ties = measured.FindTies(0, measured.runs(0)[0]);
  ASSERT_TRUE(ties.has_value());
  EXPECT_EQ(ties->rows, 2);
  EXPECT_FALSE(ties->numbers_differ);
  row_.set_throughput(row_.throughput() + 1);
  measured.AddRow(row_, 0, "g", 2);
  EXPECT_TRUE(measured.FindTies(0, measured.runs(0)[0])->numbers_differ);
  // A later attempt replaces all of them.
  row_.set_attempt(1);
  measured.AddRow(row_, 0, "g", 3);
  EXPECT_FALSE(measured.FindTies(0, measured.runs(0)[0]).has_value());
  EXPECT_EQ(measured.replaced_rows(), 3);
}

TEST_F(MeasuredRunsTest, TheCleanestAttemptCountsInAnyOrder) {
  Row noisy = row_;
  noisy.set_attempt(1);
  noisy.add_warnings("noisy");
  // Measured again with the number of an attempt that is there.
  Row again = noisy;
  again.clear_warnings();
  again.set_throughput(row_.throughput() + 1);
  for (const std::vector<Row>& rows : {std::vector<Row>{row_, noisy, again},
                                       {again, noisy, row_},
                                       {noisy, row_, again}}) {
    MeasuredRuns measured(jobs_, "");
    for (const Row& row : rows) measured.AddRow(row, 0, "f", 1);
    const RunState& run = measured.runs(0)[0];
    EXPECT_EQ(run.throughput, again.throughput());
    EXPECT_EQ(run.disturbances, 0u);
    EXPECT_FALSE(measured.FindTies(0, run).has_value());
    EXPECT_EQ(measured.replaced_rows(), 2);
  }
  // Rows of another machine do not count as a second try.
  MeasuredRuns measured(jobs_, "");
  measured.AddRow(noisy, 0, "f", 1);
  again.set_machine_profile("other");
  measured.AddRow(again, 0, "f", 2);
  EXPECT_TRUE(measured.FindTies(0, measured.runs(0)[0]).has_value());
}

TEST_F(MeasuredRunsTest, TheHostsCpuStandsBesideACpuMachine) {
  MeasuredRuns measured(jobs_, "");
  measured.AddRow(row_, 0, "f", 1);
  row_.set_hardware_class("host_cpu");
  measured.AddRow(row_, 0, "f", 2);
  EXPECT_EQ(measured.runs(0).size(), 2);
}

TEST_F(MeasuredRunsTest, OtherMachinesAreLeftOutWhenOneIsAskedFor) {
  MeasuredRuns measured(jobs_, "another");
  measured.AddRow(row_, 0, "f", 1);
  EXPECT_EQ(measured.rows(), 0);
}

TEST_F(MeasuredRunsTest, RowsOfNoJobAreCountedAndTheirSettingsNoted) {
  MeasuredRuns measured(jobs_, "");
  row_.set_job_id("0123456789abcdef");
  row_.set_batch_size(4);
  measured.AddRow(row_, 0, "f", 1);
  row_.add_labels("exploratory");
  measured.AddRow(row_, 0, "f", 2);
  EXPECT_EQ(measured.unplanned_rows(), 2);
  ASSERT_EQ(measured.strays().size(), 1);
  const auto& [what, stray] = *measured.strays().begin();
  EXPECT_EQ(what.second, "batch_size is 4, planned is 0");
  EXPECT_TRUE(stray.other_batch);
  EXPECT_EQ(stray.rows, 1);
  EXPECT_EQ(stray.place, "f:1");
}

TEST_F(MeasuredRunsTest, RunsAndMachinesMayComeAfterTheirRows) {
  MeasuredRuns measured(jobs_, "");
  measured.AddRow(row_, 0, "f", 1);
  EXPECT_EQ(measured.CopyBytesPerS(measured.runs(0)[0]), 0);
  EXPECT_EQ(measured.Machine(measured.runs(0)[0]), nullptr);
  const SyntheticRows maker({});
  for (const auto& run : maker.Runs()) measured.AddRun(run);
  for (const Env& env : maker.Envs()) measured.AddEnv(env);
  EXPECT_GT(measured.CopyBytesPerS(measured.runs(0)[0]), 1e9);
  ASSERT_NE(measured.Machine(measured.runs(0)[0]), nullptr);
  EXPECT_FALSE(measured.Machine(measured.runs(0)[0])->has_gpu);
}

Row MakeRow(const char* profile, const char* version) {
  Row row;
  row.set_status("ok");
  row.set_machine_profile(profile);
  row.set_library_version(version);
  return row;
}

TEST(RowSettingsTest, EqualSettingsHaveOneNumber) {
  RowSettings settings;
  const auto id = settings.Id(MakeRow("a", "1"));
  EXPECT_EQ(settings.Id(MakeRow("a", "1")), id);
  EXPECT_NE(settings.Id(MakeRow("a", "2")), id);
  EXPECT_EQ(settings.Get(id)[RowSettings::kMachineProfile], "a");
}

TEST(RowSettingsTest, DifferencesNameFieldsAndValues) {
  RowSettings settings;
  const auto a = settings.Id(MakeRow("m", "1"));
  const auto b = settings.Id(MakeRow("n", "2"));
  EXPECT_EQ(settings.Differences({a, b}),
            "machine_profile (m, n), library_version (1, 2)");
  EXPECT_EQ(settings.Differences({b, a, b}), settings.Differences({a, b}));
  EXPECT_EQ(settings.Differences({a, a}), "");
  EXPECT_EQ(settings.Differences({}), "");
}

TEST(RowSettingsTest, WhatIsLeftOutDiffersFromNothing) {
  RowSettings settings;
  const auto whole = settings.Id(MakeRow("m", "1"));
  const auto part = settings.Id(MakeRow("m", ""));
  const auto other = settings.Id(MakeRow("m", "2"));
  EXPECT_EQ(settings.Differences({whole, part}), "");
  EXPECT_EQ(settings.Differences({whole, part, other}),
            "library_version (1, 2)");
}

TEST(RowSettingsTest, LabelsThatChooseATableCount) {
  RowSettings settings;
  Row cold = MakeRow("m", "1");
  cold.add_labels("cold");
  Row optional = MakeRow("m", "1");
  optional.add_labels("optional");
  const auto warm = settings.Id(MakeRow("m", "1"));
  EXPECT_EQ(settings.Id(optional), warm);
  EXPECT_EQ(settings.Differences({warm, settings.Id(cold)}),
            "labels (cold, none)");
}

Job SyntheticJob(const std::string& id) {
  Job job;
  job.set_job_id(id);
  job.set_scenario("image-rgb");
  job.set_library("kornia");
  job.set_transform("Blur");
  job.set_device("cpu");
  job.set_hardware_class("cpu");
  job.set_num_items(1000);
  job.add_run_indexes(0);
  job.add_run_indexes(1);
  return job;
}

TEST(SyntheticRowsTest, TheSameJobGivesTheSameRow) {
  const SyntheticRows rows({});
  EXPECT_EQ(
      rows.MakeRow(SyntheticJob("a"), 0).SerializeAsString(),
      SyntheticRows({}).MakeRow(SyntheticJob("a"), 0).SerializeAsString());
}

TEST(SyntheticRowsTest, NoTwoNumbersAreAlike) {
  SyntheticRowOptions options;
  options.early_stopped = 0;
  const SyntheticRows rows(options);
  std::set<double> seen;
  for (int i = 0; i < 500; ++i) {
    for (const Row& row : rows.MakeRows(SyntheticJob(std::to_string(i)))) {
      EXPECT_TRUE(seen.insert(row.throughput()).second);
      EXPECT_DOUBLE_EQ(row.throughput(), row.items() / row.elapsed_s());
    }
  }
  EXPECT_EQ(seen.size(), 1000);
}

TEST(SyntheticRowsTest, UnsupportedJobsAreAnswered) {
  Job job = SyntheticJob("a");
  job.set_unsupported_reason("no");
  const Row row = SyntheticRows({}).MakeRow(job, 1);
  EXPECT_EQ(row.status(), "unsupported");
  EXPECT_EQ(row.reason(), "no");
  EXPECT_EQ(row.run_index(), 1);
}

TEST(SyntheticRowsTest, TheShareThatStopsEarlyIsKept) {
  SyntheticRowOptions options;
  options.early_stopped = 0.2;
  const SyntheticRows rows(options);
  int stopped = 0;
  for (int i = 0; i < 2000; ++i) {
    stopped += rows.MakeRow(SyntheticJob(std::to_string(i)), 0).status() ==
               "early_stopped";
  }
  EXPECT_NEAR(stopped, 400, 80);
}

}  // namespace
}  // namespace feedrate
