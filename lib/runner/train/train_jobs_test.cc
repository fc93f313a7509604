#include "lib/runner/train/train_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "lib/base/text.h"
#include "lib/records/json.h"
#include "lib/records/train_settings.h"

namespace feedrate {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAreArray;

// A job of `plan`, and what flags say of it.
struct Request {
  Request() {
    job.set_scenario("train");
    job.set_mode("train");
    job.set_library(kTrainLibrary);
    job.set_scope("synthetic");
    job.set_device("cpu");
    job.set_batch_size(32);
  }

  Job job;
  std::map<std::string, std::string> settings = {{"precision", "fp32"}};
};

absl::StatusOr<std::vector<Job>> MakeJobs(const Request& request) {
  return WithSettings({request.job}, request.settings);
}

TrainSource FlagsOnly() {
  TrainSource source;
  source.configs_folder = "configs";
  return source;
}

std::vector<Job> JobsOf(const TrainSource& source) {
  const auto jobs = LoadTrainJobs(source, absl::nullopt);
  EXPECT_TRUE(jobs.ok()) << jobs.status();
  return jobs.ok() ? jobs->list.jobs : std::vector<Job>();
}

std::string SourceMistake(const TrainSource& source) {
  const auto jobs = LoadTrainJobs(source, absl::nullopt);
  return jobs.ok() ? "" : std::string(jobs.status().message());
}

TEST(TrainJobsTest, DefaultsDoNotChangeTheId) {
  Request request;
  const std::string id = (*MakeJobs(request))[0].job_id();
  request.settings["accumulation"] = "1";
  request.settings["mixing"] = "";
  EXPECT_EQ((*MakeJobs(request))[0].job_id(), id);
  request.settings["accumulation"] = "2";
  EXPECT_NE((*MakeJobs(request))[0].job_id(), id);
}

TEST(TrainJobsTest, SweepsMultiplyAndLibrariesStandSideBySide) {
  TrainSource source = FlagsOnly();
  source.overrides.Set("libraries", "feedrate,torch_eager");
  source.overrides.Set("sweep", "precision=fp32,bf16;batch_size=8,16");
  // The axis wins.
  source.settings = {{"precision", "fp16"}};
  const std::vector<Job> jobs = JobsOf(source);
  ASSERT_EQ(jobs.size(), 8);
  EXPECT_EQ(jobs[0].library(), "feedrate");
  EXPECT_EQ(jobs[1].library(), "torch_eager");
  EXPECT_EQ(jobs[1].batch_size(), 8);
  EXPECT_EQ(jobs[2].batch_size(), 16);
  EXPECT_EQ(jobs[7].settings().at("precision"), "bf16");
  EXPECT_EQ(jobs[0].settings().at("precision"), "fp32");
}

TEST(TrainJobsTest, ASubjectIsItsOwnModelAndIsTrainedInBothWays) {
  Request request;
  request.job.set_library("my.model:build");
  std::vector<Job> jobs = *MakeJobs(request);
  ASSERT_EQ(jobs.size(), 2);
  EXPECT_EQ(jobs[0].settings().at("engine"), "eager");
  EXPECT_EQ(jobs[1].settings().at("engine"), "compile");
  EXPECT_EQ(jobs[0].settings().count("model"), 0);
  EXPECT_THAT(TrainSettingsOf(jobs[1])->words, Contains("engine=compile"));
  request.settings["engine"] = "compile";
  jobs = *MakeJobs(request);
  ASSERT_EQ(jobs.size(), 1);
  request.settings["engine"] = "fused";
  EXPECT_THAT(std::string(MakeJobs(request).status().message()),
              HasSubstr("subjects have eager and compile"));
  request.job.set_library(kTrainLibrary);
  request.settings["engine"] = "compile";
  EXPECT_THAT(std::string(MakeJobs(request).status().message()),
              HasSubstr("subjects have eager and compile"));
}

TEST(TrainJobsTest, ATorchScriptFileIsTrainedAsItIs) {
  Request request;
  request.job.set_library("models/small.pt");
  const std::vector<Job> jobs = *MakeJobs(request);
  ASSERT_EQ(jobs.size(), 1);
  EXPECT_EQ(jobs[0].settings().count("model"), 0);
  EXPECT_EQ(jobs[0].settings().count("engine"), 0);
  request.settings["engine"] = "eager";
  EXPECT_THAT(std::string(MakeJobs(request).status().message()),
              HasSubstr("small.pt runs as it is; leave them out"));
}

TEST(TrainJobsTest, SeveralProcessesBringOneAlong) {
  Request request;
  request.settings["world_size"] = "2";
  const std::vector<Job> jobs = *MakeJobs(request);
  ASSERT_EQ(jobs.size(), 2);
  EXPECT_EQ(jobs[0].settings().count("world_size"), 0);
  EXPECT_EQ(TrainSettingsOf(jobs[1])->world_size, 2);
}

TEST(TrainJobsTest, WordsAreForOneProcess) {
  Request request;
  request.settings["world_size"] = "2";
  request.settings["warmup"] = "5";
  const Job job = (*MakeJobs(request))[1];
  const std::vector<std::string> words = TrainSettingsOf(job)->words;
  EXPECT_THAT(words, Contains("warmup=5"));
  EXPECT_THAT(words, Contains("batch_size=32"));
  EXPECT_THAT(words, Not(Contains(HasSubstr("world_size"))));
}

// Whether or not the job names it.
TEST(TrainJobsTest, ThePrecisionFollowsTheDevice) {
  TrainSource source = FlagsOnly();
  source.overrides.Set("sweep", "device=cpu,cuda");
  std::vector<Job> jobs = JobsOf(source);
  ASSERT_EQ(jobs.size(), 2);
  for (Job& job : jobs) {
    const std::string expected = job.device() == "cuda" ? "bf16" : "fp32";
    EXPECT_EQ(job.settings().at("precision"), expected);
    EXPECT_EQ(job.settings().at("model"), "vit5_tiny");
    job.mutable_settings()->erase("precision");
    EXPECT_EQ(TrainSettingsOf(job)->precision, expected);
    EXPECT_THAT(TrainSettingsOf(job)->words, Contains("precision=" + expected));
  }
}

std::string Mistake(const Request& request) {
  const auto jobs = MakeJobs(request);
  return jobs.ok() ? "" : std::string(jobs.status().message());
}

TEST(TrainJobsTest, MistakesAreNamed) {
  Request request;
  request.settings["model"] = "vit5_smal";
  EXPECT_THAT(Mistake(request), HasSubstr("did you mean \"vit5_small\"?"));
  request = Request();
  request.settings["precision"] = "fp4";
  EXPECT_THAT(Mistake(request), HasSubstr("--precision: \"fp4\""));
  request = Request();
  request.settings["precision"] = "fp8";
  request.settings["model"] = "vit5_small";
  EXPECT_THAT(Mistake(request), HasSubstr("fp8 needs --device=cuda"));
  request.job.set_device("cuda");
  EXPECT_EQ(Mistake(request), "");
  request.settings["engine"] = "fused";
  EXPECT_EQ(Mistake(request), "");
  for (const auto& other : std::map<std::string, std::string>{
           {"engine", "eager"}, {"model", "vit5_tiny"}}) {
    Request wrong = request;
    wrong.settings[other.first] = other.second;
    EXPECT_THAT(Mistake(wrong), HasSubstr("vit5_small or vit5_base"));
  }
  request.settings.erase("engine");
  request.settings["stochastic_depth"] = "0.1";
  EXPECT_THAT(Mistake(request), HasSubstr("and --precision=bf16"));
  request.settings.erase("stochastic_depth");
  request.job.set_library("torch_eager");
  EXPECT_THAT(Mistake(request), HasSubstr("--libraries=feedrate"));
  request = Request();
  request.settings["steps"] = "0";
  EXPECT_THAT(Mistake(request), HasSubstr("--measured_steps: \"0\""));
  request = Request();
  request.settings["graphs"] = "1";
  EXPECT_THAT(Mistake(request), HasSubstr("--device=cuda"));
  request = Request();
  request.settings["engine"] = "fused";
  EXPECT_THAT(Mistake(request),
              HasSubstr("--engine=fused needs --device=cuda"));
  request.settings["engine"] = "eager";
  request.job.set_library("torch_eager");
  EXPECT_THAT(Mistake(request), HasSubstr("leave it out for torch_eager"));
  request = Request();
  request.job.set_library("torch_compile_bf16");
  EXPECT_THAT(Mistake(request), HasSubstr("needs --precision=bf16"));
  request = Request();
  request.settings["precision"] = "fp16";
  request.settings["optimizer"] = "lamb";
  EXPECT_THAT(Mistake(request), HasSubstr("only --optimizer=adamw can"));
  request = Request();
  request.settings["clip_norm"] = "-1";
  EXPECT_THAT(Mistake(request), HasSubstr("--clip_norm: \"-1\" is not 0 or"));
  request.settings["clip_norm"] = "0";
  request.settings["learning_rate"] = "0";
  EXPECT_THAT(Mistake(request), HasSubstr("\"0\" is not above 0 and at most"));
  request = Request();
  request.settings["prefetched"] = "1";
  EXPECT_THAT(Mistake(request), HasSubstr("\"prefetched\" is unknown"));
  request = Request();
  request.settings["prefetch"] = "4";
  EXPECT_THAT(Mistake(request), HasSubstr("--prefetch: only --scope=e2e"));
  request = Request();
  request.settings["fused_decode"] = "1";
  EXPECT_THAT(Mistake(request), HasSubstr("only --loader=dali and dali_gpu"));
  request = Request();
  request.settings["augment"] = "three_augment";
  EXPECT_THAT(Mistake(request), HasSubstr("--augment: only images"));
  request = Request();
  request.settings["model"] = "byte_lm_tiny";
  request.settings["mixing"] = "mixup";
  EXPECT_THAT(Mistake(request), HasSubstr("--mixing"));
  request = Request();
  request.settings["learning_rate_min"] = "1e-5";
  EXPECT_THAT(Mistake(request), HasSubstr("add --schedule=cosine"));
  request.settings["schedule"] = "cosine";
  EXPECT_EQ(Mistake(request), "");
  request.settings["learning_rate_min"] = "0.1";
  EXPECT_THAT(Mistake(request), HasSubstr("is above --learning_rate"));
  request = Request();
  request.settings["schedule"] = "linear";
  request.settings["schedule_steps"] = "10";
  request.settings["learning_rate_warmup"] = "11";
  EXPECT_THAT(Mistake(request), HasSubstr("longer than --schedule_steps"));
  request = Request();
  request.settings["model"] = "byte_lm_tiny";
  request.settings["label_smoothing"] = "0.1";
  EXPECT_THAT(Mistake(request), HasSubstr("leave it out for text"));
  request = Request();
  request.settings["ema_decay"] = "1";
  EXPECT_THAT(Mistake(request), HasSubstr("--ema_decay: \"1\" is not 0 or"));
  request = Request();
  request.job.set_library("torch_eager");
  request.settings["stochastic_depth"] = "0.1";
  EXPECT_THAT(Mistake(request), HasSubstr("leave it out for torch_eager"));
  request = Request();
  request.job.set_device("cuda");
  request.settings["precision"] = "bf16";
  request.settings["engine"] = "fused";
  request.settings["schedule"] = "cosine";
  request.settings["graphs"] = "1";
  EXPECT_EQ(Mistake(request), "");
  request.settings["stochastic_depth"] = "0.1";
  EXPECT_THAT(Mistake(request), HasSubstr("engine fused does not have it"));
  request.settings["engine"] = "eager";
  EXPECT_THAT(Mistake(request), HasSubstr("keeps its learning rate"));
  request = Request();
  request.job.set_batch_size(0);
  EXPECT_THAT(Mistake(request), HasSubstr("--batch_size"));
  for (const int workers : {-1, 1025, 100000}) {
    request = Request();
    request.job.set_workers(workers);
    EXPECT_THAT(Mistake(request), HasSubstr("from 0 to 1024"));
  }
}

TEST(TrainJobsTest, EndToEndIsByTheNativeLoaderUnlessAnotherIsNamed) {
  Request request;
  request.job.set_scope("e2e");
  request.job.set_workers(2);
  request.job.set_dataset("val");
  request.settings["epochs"] = "1";
  request.settings["loader"] = "";
  Job job = (*MakeJobs(request))[0];
  request.settings["loader"] = "native";
  EXPECT_EQ(job.job_id(), (*MakeJobs(request))[0].job_id());
  EXPECT_EQ(job.dataset(), "val");
  EXPECT_THAT(TrainSettingsOf(job)->words, Contains("workers=2"));
  EXPECT_THAT(TrainSettingsOf(job)->words, Contains("loader=native"));
  // Also in jobs of another origin, which have not named it.
  job.mutable_settings()->erase("loader");
  EXPECT_EQ(TrainSettingsOf(job)->loader, "native");
  EXPECT_THAT(TrainSettingsOf(job)->words, Contains("loader=native"));
  request.job.set_scope("synthetic");
  EXPECT_THAT(Mistake(request), HasSubstr("scope synthetic reads no files"));
}

TEST(TrainJobsTest, EveryLoaderReadsEveryFolder) {
  TrainSource source = FlagsOnly();
  source.overrides.Set("scope", "e2e");
  source.overrides.Set("dataset", "/a/nvme,/b/nfs");
  source.overrides.Set("sweep", "loader=native,torchvision,dali");
  const std::vector<Job> jobs = JobsOf(source);
  ASSERT_EQ(jobs.size(), 6);
  EXPECT_EQ(jobs[0].dataset(), "nvme");
  EXPECT_EQ(jobs[1].dataset(), "nfs");
  EXPECT_EQ(jobs[1].settings().at("loader"), "native");
  EXPECT_EQ(jobs[5].settings().at("loader"), "dali");
  EXPECT_EQ(LoadTrainJobs(source, absl::nullopt)->folders.at("nfs"), "/b/nfs");
}

TEST(TrainJobsTest, AMixtureFeedsFrames) {
  Request request;
  request.job.set_scope("e2e");
  request.job.set_dataset("episodes");
  request.settings["loader"] = "mixture";
  request.settings["mixture"] = "queue_depth=8;metadata=full";
  const Job job = (*MakeJobs(request))[0];
  EXPECT_THAT(TrainSettingsOf(job)->words,
              Contains("mixture=queue_depth=8;metadata=full"));
  request.settings["epochs"] = "1";
  EXPECT_THAT(Mistake(request), HasSubstr("a mixture has no end"));
  request.settings.erase("epochs");
  request.job.set_batch_size(3);
  EXPECT_THAT(Mistake(request), HasSubstr("even number"));
  request.job.set_batch_size(4);
  request.settings["loader"] = "native";
  EXPECT_THAT(Mistake(request), HasSubstr("--loader=mixture"));
  request.settings.erase("mixture");
  request.settings["loader"] = "cuda";
  EXPECT_THAT(Mistake(request), HasSubstr("add --device=cuda"));
  request.settings["loader"] = "dali_gpu";
  EXPECT_THAT(Mistake(request), HasSubstr("add --device=cuda, or use dali"));
  request.job.set_device("cuda");
  EXPECT_TRUE(MakeJobs(request).ok());
  request.settings["world_size"] = "2";
  EXPECT_THAT(Mistake(request), HasSubstr("feeds the first GPU"));
}

TEST(TrainJobsTest, NoSuchFileOfJobs) {
  EXPECT_FALSE(ReadTrainJobs("nowhere.jsonl").ok());
}

TEST(LoadTrainJobsTest, TasksOfSrunTrainTogetherWhenAskedTo) {
  SlurmStep step;
  step.world_size = 4;
  TrainSource source = FlagsOnly();
  EXPECT_THAT(std::string(LoadTrainJobs(source, step).status().message()),
              HasSubstr("say --world-size=-1"));
  EXPECT_EQ(LoadTrainJobs(source, absl::nullopt)->list.jobs.size(), 1);
  source.settings["world_size"] = "-1";
  const auto jobs = LoadTrainJobs(source, step);
  ASSERT_TRUE(jobs.ok()) << jobs.status();
  EXPECT_EQ(TrainSettingsOf(jobs->list.jobs[1])->world_size, 4);
}

TEST(LoadTrainJobsTest, FoldersOfOneNameAreAMistake) {
  TrainSource source = FlagsOnly();
  source.overrides.Set("dataset", "/a/images,/b/images");
  EXPECT_THAT(
      std::string(LoadTrainJobs(source, absl::nullopt).status().message()),
      HasSubstr("are both called \"images\""));
}

// It trained on synthetic data and wrote the folder's name into the row.
TEST(LoadTrainJobsTest, ADataSetThatNothingReadsIsAMistake) {
  TrainSource source = FlagsOnly();
  source.overrides.Set("dataset", "/a/images");
  EXPECT_THAT(SourceMistake(source),
              HasSubstr("--dataset: scope synthetic would not read \"images\"; "
                        "add --scope=e2e"));
  source.overrides.Set("dataset", "synthetic:train");
  EXPECT_EQ(SourceMistake(source), "");
  source.overrides.Set("dataset", "/a/images");
  source.overrides.Set("scope", "e2e");
  source.settings["loader"] = "native";
  EXPECT_EQ(SourceMistake(source), "");
}

TEST(LoadTrainJobsTest, AFlagWithoutUseIsAMistake) {
  TrainSource source = FlagsOnly();
  source.overrides.Set("num_items", "5");
  EXPECT_THAT(SourceMistake(source), HasSubstr("--num_items"));
  source.overrides.Clear("num_items");
  source.overrides.Set("workers", "2");
  EXPECT_THAT(SourceMistake(source), HasSubstr("--workers: a training of"));
  source.overrides.Set("scope", "e2e");
  source.settings["loader"] = "native";
  EXPECT_EQ(SourceMistake(source), "");
}

// What the config says of the run travels with its jobs.
TEST(LoadTrainJobsTest, PlannedJobsBringTheirConfig) {
  TrainSource source;
  source.config = "configs/demo_train.textproto";
  source.configs_folder = "configs";
  source.overrides.Set("output", "-");
  const auto planned = LoadTrainJobs(source, absl::nullopt);
  ASSERT_TRUE(planned.ok()) << planned.status();
  std::string text;
  for (const Job& job : planned->list.jobs) AppendRecord(job, &text);
  TrainSource again;
  again.jobs = testing::TempDir() + "/with_config.jsonl";
  std::ofstream(again.jobs) << text;
  const auto read = LoadTrainJobs(again, absl::nullopt);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->list.config.label(), "demo_train");
  EXPECT_EQ(read->list.config_text, planned->list.config_text);
}

TEST(LoadTrainJobsTest, PlannedJobsStayAsTheyAre) {
  const std::string path = testing::TempDir() + "/planned.jsonl";
  std::ofstream(path) << R"({"schema":1,"record":"job","job_id":"a",)"
                      << R"("mode":"train","library":"feedrate",)"
                      << R"("scope":"e2e","device":"cpu","batch_size":4,)"
                      << R"("dataset":"images","run_indexes":[0],)"
                      << R"("settings":{"loader":"native"}})"
                      << "\n";
  TrainSource source;
  source.jobs = path;
  EXPECT_EQ(SourceMistake(source), "");
  source.overrides.Set("dataset", "/a/images");
  source.overrides.Set("label", "x");
  EXPECT_EQ(SourceMistake(source), "");
  source.overrides.Set("batch_size", "8");
  EXPECT_THAT(SourceMistake(source),
              HasSubstr("--batch_size changes a config, and jobs are planned"));
  source.overrides.Clear("batch_size");
  source.settings = {{"warmup", "3"}};
  EXPECT_THAT(SourceMistake(source), HasSubstr("--warmup_steps changes"));
  source.settings.clear();
  source.overrides.Set("dataset", "/a/other");
  EXPECT_THAT(SourceMistake(source), HasSubstr("no job of"));
}

TrainSource Demo() {
  TrainSource source = FlagsOnly();
  source.config = "configs/demo_train.textproto";
  return source;
}

TEST(TrainConfigTest, TheDemoIsTwoTrainings) {
  const std::vector<Job> jobs = JobsOf(Demo());
  ASSERT_EQ(jobs.size(), 2);
  EXPECT_EQ(jobs[0].settings().at("precision"), "fp32");
  EXPECT_EQ(TrainSettingsOf(jobs[1])->precision, "bf16");
  EXPECT_EQ(TrainSettingsOf(jobs[1])->warmup, 20);
}

// The same work has the same id, however it is asked for.
TEST(TrainConfigTest, FlagsAndConfigMakeTheSameJob) {
  TrainSource source = FlagsOnly();
  source.settings = {{"warmup", "20"}, {"steps", "50"}};
  EXPECT_EQ(JobsOf(source)[0].job_id(), JobsOf(Demo())[0].job_id());
}

TEST(TrainConfigTest, OverridesAndSettingsWin) {
  TrainSource source = Demo();
  source.overrides.Set("batch_size", "8");
  source.overrides.Set("num_runs", "3");
  source.overrides.Set("sample_ratio", "0.5");
  source.settings = {{"model", "byte_lm_tiny"}};
  const Job job = JobsOf(source)[0];
  EXPECT_EQ(job.batch_size(), 8);
  EXPECT_EQ(job.run_indexes_size(), 3);
  EXPECT_EQ(TrainSettingsOf(job)->model.name, "byte_lm_tiny");
  EXPECT_EQ(job.settings().at("sample_ratio"), "0.5");
}

TEST(TrainConfigTest, MistakesHaveTheirPlace) {
  TrainSource source = Demo();
  source.overrides.Set("scope", "end_to_end");
  EXPECT_THAT(SourceMistake(source), HasSubstr("--scope"));
  source = Demo();
  source.config = "configs/demo.textproto";
  EXPECT_THAT(SourceMistake(source), HasSubstr("run it with micro"));
}

TEST(TrainConfigTest, EveryModelCanBeNamed) {
  EXPECT_THAT(ChoicesOf(FindTrainSetting("model")->help),
              UnorderedElementsAreArray(ModelNames()));
}

}  // namespace
}  // namespace feedrate
