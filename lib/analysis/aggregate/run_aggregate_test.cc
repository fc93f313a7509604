#include "lib/analysis/aggregate/run_aggregate.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/analysis/aggregate/aggregate.h"
#include "lib/analysis/aggregate/jobs_of_rows.h"
#include "lib/analysis/rows/row_files.h"
#include "lib/analysis/testing/rows.h"
#include "lib/base/files.h"
#include "lib/records/env.pb.h"
#include "lib/records/job.pb.h"
#include "lib/records/job_identity.h"
#include "lib/records/json.h"
#include "lib/records/row.pb.h"
#include "lib/records/summary.pb.h"

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
  EXPECT_EQ(policies.SlowMarker("image-rgb", "", 0.05), "<=20 img/s");
  EXPECT_EQ(policies.SlowMarker("video-16f", "clip", 2), "<=0.5 vid/s");
  EXPECT_EQ(policies.SlowMarker("unheard-of", "clip", 2), "<=0.5 vid/s");
  EXPECT_EQ(policies.SlowMarker("unheard-of", "token", 2), "slow");
  // The marker must be true of the rows.
  EXPECT_EQ(policies.SlowMarker("image-rgb", "image", 0.1), "<=20 img/s");
  EXPECT_EQ(policies.SlowMarker("image-rgb", "image", 0.004), "slow");
  EXPECT_EQ(policies.SlowMarker("image-rgb", "image", 0), "slow");
  EXPECT_EQ(policies.ProgramFor("image-rgb", "micro"), "micro");
  EXPECT_EQ(policies.ProgramFor("video-16f", "pipeline"), "video");
}

TEST(PoliciesTest, NoPolicyIsNoMistake) {
  Policies policies("no/such/folder");
  EXPECT_EQ(policies.SlowMarker("image-rgb", "image", 0.05), "slow");
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

TEST_F(RunsNeededTest, RowsAreRepeatedFromTheirFields) {
  Add("a", {100, 101});
  Add("b", {100});
  std::vector<std::string> problems;
  const std::vector<Job> all = jobs_.Again("*", &problems);
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_EQ(all[0].job_id(), rows_[0].job_id());
  EXPECT_EQ(JobId(all[0]), rows_[0].job_id());
  EXPECT_THAT(all[0].run_indexes(), ElementsAre(0, 1));
  EXPECT_THAT(jobs_.Again("b *", &problems), SizeIs(1));
  EXPECT_THAT(jobs_.Again(rows_[0].job_id(), &problems), SizeIs(1));
  EXPECT_THAT(jobs_.Again("c *", &problems), IsEmpty());
  // Text of others is not run, and a changed row is another job.
  Row changed = rows_[0];
  changed.set_job_id("0123456789abcdef");
  jobs_.Add(changed);
  Row command;
  command.set_job_id("command");
  command.set_mode("command");
  (*command.mutable_settings())["name"] = "rm -rf .";
  jobs_.Add(command);
  EXPECT_THAT(jobs_.Again("*", &problems), SizeIs(2));
  ASSERT_THAT(problems, SizeIs(2));
  EXPECT_THAT(problems[0], HasSubstr("do not give its job_id"));
  EXPECT_THAT(problems[1], HasSubstr("text of rows is not run"));
}

// A file as a runner of `host` writes it, on a day of November.
std::string FileOf(const std::string& host, int day, double factor) {
  std::string records;
  Env env;
  env.set_host(host);
  AppendRecord(env, &records);
  feedrate::Run head;
  head.set_run_id(host + std::to_string(day));
  head.set_started_at("2026-11-" + std::to_string(day) + "T10:00:00Z");
  AppendRecord(head, &records);
  for (int run = 0; run < 3; ++run) {
    for (const char* library : {"a", "b"}) {
      Row row = MakeRow(library, "Blur", (100 + run) * factor, run);
      row.set_run_id(head.run_id());
      AppendRecord(row, &records);
    }
  }
  const std::string file =
      JoinPath(::testing::TempDir(), head.run_id() + "_elsewhere.jsonl");
  EXPECT_TRUE(WriteFileAtomically(file, records).ok());
  return file;
}

std::string ElsewhereOf(const std::vector<std::string>& files) {
  AggregateRun run;
  run.paths = files;
  run.options.by = {"library"};
  run.elsewhere = true;
  run.warn = [](const std::string&) {};
  // A long note goes on in the next line.
  return absl::StrReplaceAll(RunAggregate(run)->text, {{"\n  ", " "}});
}

TEST(ElsewhereColumnTest, SaysWhatWasRepeated) {
  const std::vector<std::string> three = {
      FileOf("x", 17, 1), FileOf("y", 17, 1.02), FileOf("z", 17, 0.97)};
  const std::string machines = ElsewhereOf(three);
  EXPECT_THAT(machines, HasSubstr("95% elsewhere"));
  EXPECT_THAT(machines, HasSubstr("on another machine of this kind"));
  EXPECT_THAT(machines, HasSubstr("as 3 machines show"));
  // Medians of 101, 103 and 98: t of two degrees of freedom.
  EXPECT_THAT(machines, HasSubstr("[88.75"));
  EXPECT_THAT(machines, HasSubstr(", 114."));
  EXPECT_THAT(ElsewhereOf({FileOf("x", 17, 1), FileOf("x", 18, 1.02),
                           FileOf("x", 19, 0.97)}),
              HasSubstr("on another day lies there in 95 of 100 cases, as 3 "
                        "days show"));
  EXPECT_THAT(ElsewhereOf({three[0], three[1]}),
              HasSubstr("takes three executions of the program (run_id), and "
                        "these rows are of 2"));
}

// A run that was interrupted early has nothing but the harness's row. The
// command had no program: "aggregate --rerun_noisy rows.jsonl | --jobs=-".
TEST(NoiseNotesTest, RowsOfTheHarnessAloneAreNotMeasuredAgain) {
  Row row = MakeRow("null", "Nothing", 100);
  row.add_warnings("noisy");
  std::string records;
  AppendRecord(row, &records);
  AggregateRun run;
  run.paths = {JoinPath(::testing::TempDir(), "harness.jsonl")};
  ASSERT_TRUE(WriteFileAtomically(run.paths[0], records).ok());
  run.options.by = {"transform", "library"};
  run.warn = [](const std::string&) {};
  const std::string text = RunAggregate(run)->text;
  EXPECT_THAT(text, HasSubstr("1 of 1 run was disturbed"));
  EXPECT_EQ(text.find("--jobs=-"), std::string::npos) << text;
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

}  // namespace
}  // namespace feedrate
