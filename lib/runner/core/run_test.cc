#include "lib/runner/core/run.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <set>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/config/run_config.pb.h"
#include "lib/machine/machine.h"
#include "lib/measure/measure_run.h"
#include "lib/measure/subject.h"
#include "lib/records/env.pb.h"
#include "lib/runner/core/job_run.h"
#include "lib/runner/core/rows.h"

namespace feedrate {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(RowBuilderTest, ARowSaysWhatItsJobAndRunAre) {
  Job job;
  job.set_job_id("0123456789abcdef");
  job.set_library("pillow");
  job.set_dataset("val");
  job.add_labels("optional");
  (*job.mutable_settings())["prefetch"] = "2";
  job.set_label("nightly");
  job.set_note("after the upgrade");
  RunIdentity run;
  run.run_id = "run";
  run.env_id = "env";
  run.machine_profile = "profile";
  run.hardware = "Xeon";
  run.slurm_job_id = "77_3";
  const Row row = RowOf(job, run, "image");
  EXPECT_EQ(row.label(), "nightly");
  EXPECT_EQ(row.note(), "after the upgrade");
  EXPECT_EQ(row.slurm_job_id(), "77_3");
  EXPECT_EQ(row.job_id(), job.job_id());
  EXPECT_EQ(row.library(), "pillow");
  EXPECT_EQ(row.dataset().id(), "val");
  EXPECT_EQ(row.settings().at("prefetch"), "2");
  EXPECT_THAT(row.labels(), ElementsAre("optional"));
  EXPECT_EQ(row.run_id(), "run");
  EXPECT_EQ(row.env_id(), "env");
  EXPECT_EQ(row.machine_profile(), "profile");
  EXPECT_EQ(row.hardware(), "Xeon");
  EXPECT_EQ(row.unit(), "image");
}

TEST(RowBuilderTest, RowsNameTheirSlurmJob) {
  for (const char* name :
       {"SLURM_JOB_ID", "SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID"}) {
    unsetenv(name);
  }
  EXPECT_EQ(SlurmJobId(), "");
  setenv("SLURM_JOB_ID", "80", 1);
  EXPECT_EQ(SlurmJobId(), "80");
  setenv("SLURM_ARRAY_JOB_ID", "77", 1);
  setenv("SLURM_ARRAY_TASK_ID", "3", 1);
  EXPECT_EQ(SlurmJobId(), "77_3");
}

TEST(RowBuilderTest, FailuresHaveTheirStatus) {
  EXPECT_EQ(StatusOfFailure(absl::AbortedError("")), "crashed");
  EXPECT_EQ(StatusOfFailure(absl::DeadlineExceededError("")), "timeout");
  EXPECT_EQ(StatusOfFailure(absl::ResourceExhaustedError("")), "oom");
  EXPECT_EQ(StatusOfFailure(absl::UnknownError("")), "failed");
  EXPECT_EQ(StatusOfFailure(absl::DataLossError("")), "failed");
  EXPECT_EQ(StatusOfFailure(absl::UnavailableError("")), "failed");
  EXPECT_EQ(StatusOfFailure(DivergedError("step 3")), "diverged");
  Row row;
  SetFailure(absl::AbortedError("killed by SIGSEGV"), &row);
  EXPECT_EQ(row.status(), "crashed");
  EXPECT_EQ(row.reason(), "killed by SIGSEGV");
}

TEST(RowBuilderTest, TimingsKeepTheirOrderAndGetQuantiles) {
  RunResult result;
  for (const double s : {0.3, 0.1, 0.2}) result.timing.add_samples_s(s);
  result.timing.set_items(3);
  result.elapsed_s = 0.6;
  result.noise = {{"noisy"}, {"load"}};
  Row row;
  result.cpu_s = 0.25;
  SetTiming(result, &row);
  EXPECT_EQ(row.usage().cpu_s(), 0.25);
  EXPECT_EQ(row.status(), "ok");
  EXPECT_THAT(row.samples_s(), ElementsAre(0.3, 0.1, 0.2));
  EXPECT_DOUBLE_EQ(row.throughput(), 5);
  EXPECT_DOUBLE_EQ(row.p50_s(), 0.2);
  EXPECT_EQ(row.timed_unit(), "item");
  EXPECT_THAT(row.warnings(), ElementsAre("noisy"));
  EXPECT_THAT(row.noise().causes(), ElementsAre("load"));
  result.chunk = 2;
  SetTiming(result, &row);
  EXPECT_EQ(row.timed_unit(), "chunk");
}

TEST(RowBuilderTest, TimesAreRfc3339) {
  EXPECT_EQ(TimeText(absl::FromUnixMillis(1700000000123)),
            "2023-11-14T22:13:20.123Z");
}

constexpr char kRow[] = "{\"schema\":1,\"record\":\"row\",\"job_id\":\"a\"}";

class RowOutputTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "/row_output_" +
              testing::UnitTest::GetInstance()->current_test_info()->name() +
              std::to_string(getpid());
    ASSERT_TRUE(MakeFolder(folder_).ok());
  }

  std::string Write(const std::string& text) {
    const std::string path = folder_ + "/rows.jsonl";
    std::ofstream(path) << text;
    return path;
  }

  absl::StatusOr<std::unique_ptr<RowOutput>> Open(const std::string& path,
                                                  bool resume) {
    RowOutput::Options options;
    options.path = path;
    options.resume = resume;
    options.config = "version: 1\n";
    options.warn = [this](const std::string& text) { warnings_ += text; };
    return RowOutput::Open(options);
  }

  std::string folder_;
  std::string warnings_;
};

TEST_F(RowOutputTest, AFileStartsWithEnvAndRun) {
  const std::string path = folder_ + "/new.jsonl";
  auto output = Open(path, false);
  ASSERT_TRUE(output.ok()) << output.status();
  (*output)->SetHead(Env(), feedrate::Run());
  Row row;
  row.set_status("ok");
  ASSERT_TRUE((*output)->Write(row, "ignored.jsonl").ok());
  ASSERT_TRUE((*output)->Write(row, "ignored.jsonl").ok());
  const std::string text = *ReadFile(path);
  EXPECT_THAT(text, StartsWith("{\"schema\":1,\"record\":\"env\""));
  EXPECT_THAT(text, HasSubstr("\n{\"schema\":1,\"record\":\"run\""));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);
}

TEST_F(RowOutputTest, ATableTakesThePlaceOfRecords) {
  RowOutput::Options options;
  options.path = "-";
  options.discard = true;
  int rows = 0;
  options.on_row = [&](const Row&) { ++rows; };
  testing::internal::CaptureStdout();
  auto output = RowOutput::Open(options);
  const bool written =
      output.ok() && (*output)->Write(Row(), "ignored.jsonl").ok();
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_TRUE(written) << output.status();
  EXPECT_EQ(rows, 1);
}

TEST_F(RowOutputTest, AFolderGetsAFileALibraryAndTheConfig) {
  auto output = Open(folder_ + "/out/", false);
  ASSERT_TRUE(output.ok()) << output.status();
  ASSERT_TRUE((*output)->Write(Row(), "image-rgb/micro/a.jsonl").ok());
  ASSERT_TRUE((*output)->Write(Row(), "image-rgb/micro/b.jsonl").ok());
  EXPECT_TRUE(IsFile(folder_ + "/out/image-rgb/micro/a.jsonl"));
  EXPECT_THAT(*ReadFile(folder_ + "/out/image-rgb/micro/b.jsonl"),
              HasSubstr("\"record\":\"env\""));
  EXPECT_EQ(*ReadFile(folder_ + "/out/resolved_config.textproto"),
            "version: 1\n");
}

TEST_F(RowOutputTest, RowsAreNotOverwritten) {
  const std::string path = Write(std::string(kRow) + "\n");
  EXPECT_EQ(Open(path, false).status().code(),
            absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(Open(path, true).ok());
  EXPECT_EQ(*ReadFile(path), std::string(kRow) + "\n");
}

TEST_F(RowOutputTest, AFileHasOneWriter) {
  const std::string path = folder_ + "/one_writer.jsonl";
  {
    const auto first = Open(path, /*resume=*/true);
    ASSERT_TRUE(first.ok()) << first.status();
    EXPECT_EQ(Open(path, /*resume=*/true).status().code(),
              absl::StatusCode::kUnavailable);
  }
  EXPECT_TRUE(Open(path, /*resume=*/true).ok());
}

TEST_F(RowOutputTest, ATornLastLineIsCutOff) {
  const std::string path =
      Write(std::string(kRow) + "\n" + std::string(kRow).substr(0, 20));
  ASSERT_TRUE(Open(path, true).ok());
  EXPECT_EQ(*ReadFile(path), std::string(kRow) + "\n");
  EXPECT_THAT(warnings_, HasSubstr("cut off a torn last line of 20 bytes"));
}

TEST_F(RowOutputTest, AWholeLastLineGetsItsNewline) {
  const std::string path = Write(std::string(kRow) + "\n" + kRow);
  ASSERT_TRUE(Open(path, true).ok());
  EXPECT_EQ(*ReadFile(path), std::string(kRow) + "\n" + kRow + "\n");
  EXPECT_EQ(warnings_, "");
}

TEST_F(RowOutputTest, ATornLineLongerThanABlockIsCutOff) {
  const std::string path = Write(std::string(kRow) + "\n{\"samples_s\":[" +
                                 std::string(200000, '1'));
  ASSERT_TRUE(Open(path, true).ok());
  EXPECT_EQ(*ReadFile(path), std::string(kRow) + "\n");
}

TEST_F(RowOutputTest, AFileThatCannotBeWrittenIsFoundAtOnce) {
  const std::string file = Write("");
  EXPECT_FALSE(Open(file + "/below/rows.jsonl", false).ok());
}

TEST(RunHeadTest, RowsRepeatWhatItSays) {
  MachineInfo machine;
  machine.cpu.model = "Xeon";
  machine.libraries["pillow"] = "12.2.0";
  RunConfig config;
  config.set_label("demo");
  const RunHead head = MakeRunHead(machine, config, "version: 1", 1e10,
                                   absl::FromUnixSeconds(0));
  EXPECT_EQ(head.identity.run_id, head.run.run_id());
  EXPECT_EQ(head.identity.env_id, head.env.env_id());
  EXPECT_EQ(head.run.env_id(), head.env.env_id());
  EXPECT_EQ(head.identity.hardware, "Xeon");
  EXPECT_EQ(head.env.libraries().at("pillow"), "12.2.0");
  EXPECT_EQ(head.run.label(), "demo");
  EXPECT_EQ(head.run.config(), "version: 1");
  EXPECT_EQ(head.run.started_at(), "1970-01-01T00:00:00.000Z");
  EXPECT_GT(head.run.command_size(), 0);
  EXPECT_EQ(head.run.run_id().size(), 32);
}

TEST(RunHeadTest, AnotherVersionIsAnotherEnvironment) {
  MachineInfo machine;
  machine.libraries["pillow"] = "12.2.0";
  const RunHead old = MakeRunHead(machine, {}, "", 0, absl::FromUnixSeconds(0));
  machine.libraries["pillow"] = "13.0.0";
  const RunHead now = MakeRunHead(machine, {}, "", 0, absl::FromUnixSeconds(0));
  EXPECT_NE(old.env.env_id(), now.env.env_id());
  EXPECT_NE(old.run.run_id(), now.run.run_id());
}

TEST(TimeAccountTest, BooksWhatAnEntryLives) {
  TimeAccount account;
  {
    const TimeAccount::Entry entry(&account, Spending::kTimed);
    absl::SleepFor(absl::Milliseconds(5));
  }
  absl::SleepFor(absl::Milliseconds(5));
  EXPECT_GE(account.Seconds(Spending::kTimed), 0.005);
  EXPECT_EQ(account.Seconds(Spending::kMedia), 0);
  EXPECT_GE(account.Total(), account.Seconds(Spending::kTimed) + 0.005);
  EXPECT_GT(account.MeasuredShare(), 0);
  EXPECT_LT(account.MeasuredShare(), 1);
  EXPECT_THAT(account.Text(), ContainsRegex("import 0.0%.*timed .*harness "));
}

Job MakeJob(const std::string& transform, const std::string& library,
            int64_t num_items = 20) {
  Job job;
  job.set_transform(transform);
  job.set_library(library);
  job.set_num_items(num_items);
  job.set_params_sha256(library + transform);
  // Not part of the job's identity.
  job.set_env_group(library);
  return job;
}

TEST(GroupJobsTest, LibrariesOfOneTransformGoTogether) {
  const std::vector<Job> jobs = {
      MakeJob("Resize", "opencv"), MakeJob("Resize", "pillow"),
      MakeJob("Rotate", "opencv"), MakeJob("Resize", "kornia"),
      MakeJob("Resize", "opencv", 40)};
  EXPECT_THAT(GroupJobs(jobs), ElementsAre(ElementsAre(0, 1, 3), ElementsAre(2),
                                           ElementsAre(4)));
}

TEST(ShuffledOrderTest, IsAPermutationThatTheSeedDecides) {
  const std::vector<int> order = ShuffledOrder(6, 1);
  EXPECT_EQ(std::set<int>(order.begin(), order.end()).size(), 6);
  EXPECT_EQ(ShuffledOrder(6, 1), order);
  // The same on every machine.
  EXPECT_THAT(ShuffledOrder(4, 42), ElementsAre(2, 0, 3, 1));
  EXPECT_THAT(ShuffledOrder(0, 1), ElementsAre());
}

TEST(ShuffledOrderTest, EveryPlaceIsEquallyLikely) {
  std::vector<int> first(3);
  for (int seed = 0; seed < 3000; ++seed) ++first[ShuffledOrder(3, seed)[0]];
  for (const int count : first) EXPECT_NEAR(count, 1000, 120);
}

Verification Cell(const std::string& transform, const std::string& library,
                  const std::string& label, const std::string& reference) {
  Verification cell;
  cell.set_transform(transform);
  cell.set_library(library);
  cell.set_status("ok");
  cell.mutable_equivalence()->set_label(label);
  cell.mutable_equivalence()->set_reference(reference);
  return cell;
}

TEST(VerificationTableTest, LibrariesAcrossTransformsDownReasonsBelow) {
  Verification crash = Cell("Rotate", "kornia", "", "");
  crash.set_status("crashed");
  crash.set_reason("killed by SIGSEGV");
  const std::vector<Verification> cells = {
      Cell("Resize", "opencv", "exact", "resize"),
      Cell("Resize", "kornia", "different", "resize: another size"),
      Cell("Blur", "opencv", "equivalent", "blur"), crash};
  EXPECT_EQ(VerificationTable(cells),
            "transform  opencv      kornia\n"
            "────────────────────────────────\n"
            "Resize     exact       different\n"
            "Blur       equivalent  –\n"
            "Rotate     –           crashed\n"
            "\n"
            "Resize, kornia: different: resize: another size\n"
            "Rotate, kornia: crashed: killed by SIGSEGV\n");
}

TEST(VerificationTableTest, ASettingDoesNotHideAnother) {
  Verification crash = Cell("Resize", "kornia", "", "");
  crash.set_status("crashed");
  crash.set_reason("killed by SIGSEGV");
  const std::vector<Verification> cells = {
      Cell("Resize", "kornia", "different", "resize: another size"), crash,
      Cell("Resize", "kornia", "exact", "resize"),
      Cell("Resize", "kornia", "exact", "resize")};
  EXPECT_EQ(VerificationTable(cells),
            "transform  kornia\n"
            "────────────────────────────────────\n"
            "Resize     different, crashed, exact\n"
            "\n"
            "Resize, kornia: different: resize: another size\n"
            "Resize, kornia: crashed: killed by SIGSEGV\n");
  EXPECT_EQ(VerificationSummary(cells),
            "4 outputs (1 crashed, 1 different, 2 exact)");
}

TEST(EngineSpeedsTest, AnEngineIsKnownToOthersOfTheSameFilesAndSessions) {
  EngineSpeeds speeds;
  EXPECT_EQ(speeds.Get(7, 1), 0);
  speeds.Note(7, 1, 90);
  speeds.Note(7, 8, 500);
  EXPECT_EQ(speeds.Get(7, 1), 90);
  EXPECT_EQ(speeds.Get(7, 8), 500);
  EXPECT_EQ(speeds.Get(8, 1), 0);
  EXPECT_EQ(speeds.Get(7, 2), 0);
}

TEST(EngineSpeedsTest, ADecoderThatMeasuresNothingForgetsNothing) {
  EngineSpeeds speeds;
  speeds.Note(7, 1, 90);
  speeds.Note(7, 1, 0);
  EXPECT_EQ(speeds.Get(7, 1), 90);
}

constexpr int64_t kGib = int64_t{1} << 30;

TEST(FitInMemoryTest, ATenthIsLeftToOthers) {
  EXPECT_TRUE(FitInMemory({4 * kGib, 4 * kGib}, 9 * kGib));
  EXPECT_FALSE(FitInMemory({4 * kGib, 4 * kGib}, 8 * kGib));
}

TEST(FitInMemoryTest, OneAloneAlwaysRuns) {
  EXPECT_TRUE(FitInMemory({4 * kGib}, kGib));
  EXPECT_TRUE(FitInMemory({}, 0));
}

// Covers every job and measures none.
class AnyMode : public JobMode {
 public:
  bool Covers(const Job&) const override { return true; }
  absl::Status LoadInput(const RunInputs&, const Job&) override {
    return absl::UnimplementedError("not in this test");
  }
  std::unique_ptr<JobWork> MakeWork(const RunContext&, const Job&,
                                    const JobPolicy&) override {
    return nullptr;
  }
};

RunOptions VideoOptions() {
  RunOptions options;
  options.source.tool = "video";
  options.source.config = "configs/native/video_decode.textproto";
  options.configs_folder = "configs";
  options.skip_missing = true;
  return options;
}

// Loaders that `video` measured used to warn as "pipeline: …".
TEST(RunJobsTest, WarningsStartWithTheNameOfTheRunningProgram) {
  unsetenv("FEEDRATE_WORKERS");
  RunOptions options = VideoOptions();
  options.modes = {std::make_shared<AnyMode>()};
  testing::internal::CaptureStderr();
  const absl::Status status = RunJobs(options).status();
  const std::string warnings = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(warnings, HasSubstr("video: left out ffmpeg: "));
  EXPECT_THAT(warnings, Not(HasSubstr("pipeline: ")));
}

TEST(RunJobsTest, AProgramWithoutTheModeOfAJobSaysSo) {
  const absl::Status status = RunJobs(VideoOptions()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("of mode \"decode\""));
}

}  // namespace
}  // namespace feedrate
