#include "lib/runner/core/job_list.h"

#include <fstream>
#include <functional>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/load.h"
#include "lib/records/job_identity.h"
#include "lib/records/json.h"
#include "lib/records/row.pb.h"
#include "lib/runner/core/job_settings.h"
#include "lib/runner/core/rows.h"

namespace feedrate {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class JobListTest : public testing::Test {
 protected:
  JobListTest() {
    absl::StatusOr<Catalogue> catalogue = Catalogue::Load("configs");
    EXPECT_TRUE(catalogue.ok()) << catalogue.status();
    catalogue_ = std::make_unique<Catalogue>(*std::move(catalogue));
    source_.tool = "micro";
  }

  std::string JobsFile(const std::string& text) {
    const std::string path = testing::TempDir() + "/jobs.jsonl";
    std::ofstream(path) << text;
    return path;
  }

  static std::string JobText(const std::string& scenario,
                             const std::string& mode) {
    Job job;
    job.set_job_id("00000000000000aa");
    job.set_scenario(scenario);
    job.set_mode(mode);
    job.set_dataset("val");
    std::string text;
    AppendRecord(job, &text);
    return text;
  }

  std::string Problem() {
    return std::string(LoadJobList(source_, *catalogue_).status().message());
  }

  std::unique_ptr<Catalogue> catalogue_;
  JobSource source_;
};

TEST_F(JobListTest, PlansFromAConfig) {
  source_.config = "configs/demo.textproto";
  source_.overrides.Set("num_items", "5");
  const auto list = LoadJobList(source_, *catalogue_);
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_GT(list->jobs.size(), 8);
  EXPECT_EQ(list->jobs[0].num_items(), 5);
  EXPECT_EQ(list->config.label(), "demo");
  EXPECT_THAT(list->dataset, HasSubstr("synthetic:"));
}

TEST_F(JobListTest, AFileOfJobsRestrictsAConfig) {
  source_.config = "configs/demo.textproto";
  const auto all = LoadJobList(source_, *catalogue_);
  ASSERT_TRUE(all.ok()) << all.status();
  ASSERT_GT(all->jobs.size(), 3);
  std::string wanted = JobText("image-rgb", "micro");
  AppendRecord(all->jobs[2], &wanted);
  source_.jobs = JobsFile(wanted);
  const auto some = LoadJobList(source_, *catalogue_);
  ASSERT_TRUE(some.ok()) << some.status();
  ASSERT_EQ(some->jobs.size(), 1);
  EXPECT_EQ(some->jobs[0].job_id(), all->jobs[2].job_id());
  EXPECT_EQ(some->config.label(), "demo");

  source_.jobs = JobsFile(JobText("image-rgb", "micro"));
  EXPECT_THAT(Problem(), HasSubstr("is in the plan of --config"));
}

TEST_F(JobListTest, ReadsPlannedJobs) {
  source_.jobs = JobsFile(JobText("image-rgb", "micro") +
                          "{\"schema\":1,\"record\":\"env\"}\n");
  source_.overrides.Set("dataset", "/data/val");
  source_.overrides.Set("label", "x");
  const auto list = LoadJobList(source_, *catalogue_);
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->jobs.size(), 1);
  EXPECT_EQ(list->dataset, "/data/val");
  EXPECT_EQ(list->config.label(), "x");
}

// Rows of others become jobs, and a subject is code in the current folder.
TEST_F(JobListTest, JobsRunNoCodeThatOnlyTheyName) {
  const auto problem_of = [this](const std::function<void(Job*)>& change) {
    Job job;
    job.set_job_id("00000000000000aa");
    job.set_scenario("image-rgb");
    job.set_mode("micro");
    change(&job);
    std::string text;
    AppendRecord(job, &text);
    source_.jobs = JobsFile(text);
    return Problem();
  };
  const auto set_evil = [](Job* job) { job->set_library("evil:flip"); };
  EXPECT_THAT(problem_of(set_evil),
              HasSubstr("job 00000000000000aa would import and run "
                        "\"evil:flip\", which only the file of jobs names"));
  EXPECT_THAT(problem_of([](Job* job) { job->set_library("/a/evil.pt"); }),
              HasSubstr("would import and run \"/a/evil.pt\""));
  const std::string reference =
      "selection { reference: \"evil:flip\" python: \"/evil/python\" }";
  EXPECT_THAT(problem_of([&](Job* job) { job->set_config(reference); }),
              HasSubstr("would import and run \"evil:flip\""));

  source_.overrides.Set("subject", "mine:flip,evil:flip");
  EXPECT_EQ(problem_of(set_evil), "");
  EXPECT_EQ(problem_of([&](Job* job) { job->set_config(reference); }), "");
  const auto set_python = [&](Job* job) {
    set_evil(job);
    job->set_config(reference);
  };
  EXPECT_THAT(problem_of(set_python), HasSubstr("\"/evil/python\"; name the "
                                                "one to use with --python"));
  source_.overrides.Set("python", "python3");
  EXPECT_EQ(problem_of(set_python), "");
}

TEST_F(JobListTest, ASettingOfSubjectsMakesOtherJobs) {
  Job job;
  job.set_scenario("image-rgb");
  job.set_mode("micro");
  job.set_library("theirs:flip");
  job.set_job_id(JobId(job));
  std::string text;
  AppendRecord(job, &text);
  source_.jobs = JobsFile(text);
  source_.overrides.Set("subject", "theirs:flip");
  source_.subject_setting = "distrust";
  const auto list = LoadJobList(source_, *catalogue_);
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_NE(list->jobs[0].job_id(), job.job_id());
  EXPECT_EQ(list->jobs[0].job_id(), JobId(list->jobs[0]));
  EXPECT_EQ(list->jobs[0].settings().at("distrust"), "true");
  EXPECT_THAT(list->jobs[0].labels(), ElementsAre("distrust"));

  job.set_library("pillow");
  text.clear();
  AppendRecord(job, &text);
  source_.jobs = JobsFile(text);
  EXPECT_THAT(Problem(), HasSubstr("is for subjects; leave out pillow"));
}

TEST_F(JobListTest, JobsLeadOutOfNoFolder) {
  const auto problem_of = [this](const std::string& field,
                                 const std::string& value) {
    Job job;
    job.set_job_id("00000000000000aa");
    job.set_scenario("image-rgb");
    job.set_mode("micro");
    job.GetReflection()->SetString(
        &job, job.GetDescriptor()->FindFieldByName(field), value);
    std::string text;
    AppendRecord(job, &text);
    source_.jobs = JobsFile(text);
    return Problem();
  };
  EXPECT_EQ(problem_of("output", "image-rgb/micro/a_micro_results.jsonl"), "");
  for (const char* bad : {"/tmp/x.jsonl", "../x.jsonl", "a/../../x.jsonl"}) {
    EXPECT_THAT(problem_of("output", bad),
                HasSubstr("is not a path below a folder"))
        << bad;
  }
  for (const char* field : {"library", "env_group", "env_set"}) {
    EXPECT_THAT(problem_of(field, "../../evil"), HasSubstr("is not a name"))
        << field;
  }
  // The worker refused it, which was called its crash.
  EXPECT_THAT(problem_of("transform", std::string(1 << 20, 'x')),
              HasSubstr("a job may have 524288"));
  Job job;
  job.set_scenario("../a");
  job.set_mode("..");
  job.set_library("../../../x:flip");
  job.set_scope("/b");
  job.set_device("cpu");
  EXPECT_EQ(ResultFileName(job, 1),
            "%2e.%2fa/%2e./%2e.%2f..%2f..%2fx:flip_%2fb_nall_r1_w0_b0_results"
            ".jsonl");
}

TEST_F(JobListTest, JobsOfEveryConfigCarryAllThatDecidesHowTheyAreMeasured) {
  const auto files = ListFiles("configs", ".textproto", /*recursive=*/true);
  ASSERT_TRUE(files.ok()) << files.status();
  int compared = 0;
  for (const std::string& config : *files) {
    SCOPED_TRACE(config);
    if (!absl::StrContains(*ReadFile(config), "selection {")) continue;
    const auto loaded = LoadConfig(config, Overrides());
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    const Selection& selection = loaded->config.selection();
    const Scenario& scenario = *catalogue_->FindScenario(selection.scenario());
    source_.tool =
        catalogue_->FindMode(selection.mode(), scenario.media())->tool();
    source_.config = config;
    source_.jobs = "-";
    source_.overrides.Set("output", "-");
    const auto planned = LoadJobList(source_, *catalogue_);
    ASSERT_TRUE(planned.ok()) << planned.status();
    std::string text;
    for (const Job& job : planned->jobs) AppendRecord(job, &text);
    source_.config.clear();
    source_.jobs = JobsFile(text);
    const auto read = LoadJobList(source_, *catalogue_);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->config_text, planned->config_text);
    EXPECT_EQ(read->dataset, planned->dataset);
    std::string read_text;
    for (const Job& job : read->jobs) AppendRecord(job, &read_text);
    EXPECT_EQ(read_text, text);
    ++compared;
  }
  EXPECT_GT(compared, 40);
}

TEST_F(JobListTest, SettingsOfTheConfigTravelWithItsJobs) {
  const std::string config = testing::TempDir() + "/travels.textproto";
  std::ofstream(config) << absl::StrReplaceAll(
      *ReadFile("configs/demo.textproto"),
      {{"execution {",
        "note: \"why\" execution { slow_threshold_s: 0.5 preflight_items: 2 "
        "disable_slow_skip: true"}});
  source_.config = config;
  const auto planned = LoadJobList(source_, *catalogue_);
  ASSERT_TRUE(planned.ok()) << planned.status();
  source_.config.clear();
  std::string text;
  AppendRecord(planned->jobs[1], &text);
  AppendRecord(planned->jobs[2], &text);
  source_.jobs = JobsFile(text);
  auto read = LoadJobList(source_, *catalogue_);
  ASSERT_TRUE(read.ok()) << read.status();
  const auto policy = JobPolicyOf(*catalogue_, read->jobs[0], 0);
  EXPECT_DOUBLE_EQ(policy->preflight.slow_threshold_s, 0.5);
  EXPECT_EQ(policy->preflight.items, 2);
  EXPECT_FALSE(policy->preflight.slow_skip);
  EXPECT_EQ(read->config.label(), "demo");
  EXPECT_EQ(read->config.note(), "why");
  // The part of a config that is measured.
  EXPECT_EQ(read->config.selection().libraries_size(), 2);
  EXPECT_EQ(read->config.selection().transforms_size(), 1);
  // Flags go before the config that the jobs carry.
  source_.overrides.Set("label", "mine");
  read = LoadJobList(source_, *catalogue_);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->config.label(), "mine");
  EXPECT_EQ(read->jobs[1].label(), "mine");
}

TEST_F(JobListTest, JobsOfSeveralConfigsKeepAllOfThem) {
  std::string text;
  for (const char* dataset : {"synthetic:rgb,n=5", "synthetic:rgb,n=6"}) {
    source_.config = "configs/demo.textproto";
    source_.overrides.Set("dataset", dataset);
    const auto planned = LoadJobList(source_, *catalogue_);
    ASSERT_TRUE(planned.ok()) << planned.status();
    AppendRecord(planned->jobs[0], &text);
  }
  source_.config.clear();
  source_.overrides.Clear("dataset");
  source_.jobs = JobsFile(text);
  const auto read = LoadJobList(source_, *catalogue_);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(
      std::vector<std::string>(absl::StrSplit(read->config_text, "version: 1"))
          .size(),
      3);
  EXPECT_EQ(read->dataset, "");
}

TEST_F(JobListTest, AJobForAnotherProgramNamesIt) {
  source_.jobs = JobsFile(JobText("video-16f", "micro"));
  EXPECT_THAT(Problem(), HasSubstr("not for micro; run it with video"));
  source_.jobs = JobsFile(JobText("image-rgb", "pipeline"));
  EXPECT_THAT(Problem(), HasSubstr("run it with pipeline"));
}

TEST_F(JobListTest, PlannedJobsAreNotChanged) {
  source_.jobs = JobsFile(JobText("image-rgb", "micro"));
  source_.overrides.Set("num_items", "5");
  EXPECT_THAT(Problem(), HasSubstr("--num_items changes a config"));
}

TEST_F(JobListTest, AnotherDataSetIsRefused) {
  source_.jobs = JobsFile(JobText("image-rgb", "micro"));
  source_.overrides.Set("dataset", "/data/train");
  EXPECT_THAT(Problem(), HasSubstr("is for \"val\""));
}

TEST_F(JobListTest, APlanThatWasCutOffIsNone) {
  source_.jobs = JobsFile(JobText("image-rgb", "micro") + "{\"schema\":1,\"re");
  EXPECT_FALSE(LoadJobList(source_, *catalogue_).ok());
  source_.jobs = JobsFile("");
  EXPECT_THAT(Problem(), HasSubstr("no jobs"));
}

class DoneRunsTest : public testing::Test {
 protected:
  void Add(const std::string& job_id, int run_index, int attempt,
           const std::string& status, const std::string& version = "2.0",
           const std::string& profile = "here") {
    Row row;
    row.set_job_id(job_id);
    row.set_library("lib");
    row.set_run_index(run_index);
    row.set_attempt(attempt);
    row.set_status(status);
    row.set_library_version(version);
    row.set_machine_profile(profile);
    row.set_throughput(1);
    AppendRecord(row, &text_);
  }

  DoneRuns Read(std::optional<bool> cold = std::nullopt) {
    const std::string path = testing::TempDir() + "/done_runs.jsonl";
    std::ofstream(path) << text_;
    DoneRuns done(
        "here", [](const std::string&) { return "2.0"; }, cold);
    EXPECT_TRUE(done.Read({path}, nullptr).ok());
    return done;
  }

  std::string text_;
};

TEST_F(DoneRunsTest, OnlyOwnMachineAndVersionCount) {
  Add("a", 0, 0, "ok");
  Add("b", 0, 0, "ok", "1.0");
  Add("c", 0, 0, "ok", "2.0", "elsewhere");
  const DoneRuns done = Read();
  EXPECT_TRUE(done.Done("a", 0));
  EXPECT_FALSE(done.Done("a", 1));
  EXPECT_FALSE(done.Done("b", 0));
  EXPECT_FALSE(done.Done("c", 0));
}

TEST_F(DoneRunsTest, ColdRunsAreNoWarmRuns) {
  Row row;
  row.set_library("lib");
  row.set_library_version("2.0");
  row.set_machine_profile("here");
  row.set_status("ok");
  row.set_throughput(1);
  for (const char* label : {"cold", "partly_cold", "other"}) {
    row.set_job_id(label);
    row.clear_labels();
    row.add_labels(label);
    AppendRecord(row, &text_);
  }
  const DoneRuns warm = Read(false);
  const DoneRuns cold = Read(true);
  EXPECT_FALSE(warm.Done("cold", 0));
  EXPECT_TRUE(cold.Done("cold", 0));
  EXPECT_TRUE(warm.Done("other", 0));
  EXPECT_FALSE(cold.Done("other", 0));
  EXPECT_TRUE(warm.Done("partly_cold", 0) && cold.Done("partly_cold", 0));
  // On a GPU, `cold` is L2, which is a setting of the job.
  EXPECT_TRUE(Read().Done("cold", 0));
}

TEST_F(DoneRunsTest, RunsOnFewerProcessorsAreOtherRuns) {
  Row row;
  row.set_library("lib");
  row.set_library_version("2.0");
  row.set_machine_profile("here");
  row.set_status("ok");
  row.set_throughput(1);
  row.set_mode("pipeline");
  row.set_job_id("all");
  AppendRecord(row, &text_);
  row.set_job_id("one");
  row.set_usable_cpus(1);
  AppendRecord(row, &text_);
  EXPECT_TRUE(Read().Done("all", 0));
  EXPECT_FALSE(Read().Done("one", 0));
  RunIdentity run;
  run.usable_cpus = 1;
  DoneRuns on_one(
      "here", [](const std::string&) { return "2.0"; }, std::nullopt,
      [&](const std::string& mode) { return UsableCpusOf(run, mode); });
  ASSERT_TRUE(
      on_one.Read({testing::TempDir() + "/done_runs.jsonl"}, nullptr).ok());
  EXPECT_FALSE(on_one.Done("all", 0));
  EXPECT_TRUE(on_one.Done("one", 0));
  // One thread does the same on any number of processors.
  Job job;
  job.set_mode("micro");
  EXPECT_FALSE(RowOf(job, run, "image").has_usable_cpus());
  job.set_mode("mixture");
  EXPECT_EQ(RowOf(job, run, "sample").usable_cpus(), 1);
}

TEST_F(DoneRunsTest, TheLastAttemptCountsAndTheNextIsNumbered) {
  Add("a", 0, 0, "crashed");
  Add("a", 0, 1, "ok");
  Add("b", 0, 0, "timeout");
  const DoneRuns done = Read();
  EXPECT_TRUE(done.Done("a", 0));
  EXPECT_FALSE(done.Done("b", 0));
  EXPECT_EQ(done.NextAttempt("a", 0), 2);
  EXPECT_EQ(done.NextAttempt("b", 0), 1);
  EXPECT_EQ(done.NextAttempt("b", 1), 0);
}

TEST_F(DoneRunsTest, EarlyStoppedAnswersForLaterRuns) {
  Add("a", 0, 0, "early_stopped");
  Add("b", 0, 0, "unsupported", "");
  const DoneRuns done = Read();
  EXPECT_TRUE(done.Done("a", 4));
  EXPECT_TRUE(done.Done("b", 4));
}

}  // namespace
}  // namespace feedrate
