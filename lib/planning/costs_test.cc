#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/config/text_proto.h"
#include "lib/planning/jobs.h"
#include "lib/records/json.h"

namespace feedrate {
namespace {

constexpr char kPolicy[] =
    "cost { job_overhead_s: 5 passes_per_run: 2 "
    "default_throughput { media: \"image\" mode: \"micro\" device: \"cpu\" "
    "items_per_s: 200 } }";

// The preflight has 10 items. 0.05 s per item count as slow.
constexpr char kExecution[] =
    "min_time: 0 preflight_items: 10 slow_threshold_s: 0.05";

template <typename Message>
Message Parse(const std::string& text) {
  Message message;
  EXPECT_TRUE(ParseTextProto(text, "f", &message).ok());
  return message;
}

class CostModelTest : public testing::Test {
 protected:
  static PublishedNumbers Published() {
    auto numbers = PublishedNumbers::Load("configs");
    EXPECT_TRUE(numbers.ok()) << numbers.status();
    return *std::move(numbers);
  }

  static Job TheJob(const std::string& library, const std::string& transform,
                    int runs, int64_t items = 1000) {
    Job job;
    job.set_scenario("image-rgb");
    job.set_mode("micro");
    job.set_device("cpu");
    job.set_library(library);
    job.set_transform(transform);
    job.set_num_items(items);
    for (int i = 0; i < runs; ++i) job.add_run_indexes(i);
    return job;
  }

  double Seconds(const Job& job, const std::string& execution = kExecution) {
    return CostModel(policy_, published_)
        .Of(job, "image", Parse<Execution>(execution))
        .seconds;
  }

  const Policy policy_ = Parse<Policy>(kPolicy);
  const PublishedNumbers published_ = Published();
};

TEST_F(CostModelTest, DefaultThroughputWhereNothingIsPublished) {
  // 5 to start, 10 / 200 preflight, 2 passes of 1000 / 200.
  EXPECT_DOUBLE_EQ(Seconds(TheJob("opencv", "Rotate", 1)), 5 + 0.05 + 10);
  EXPECT_DOUBLE_EQ(Seconds(TheJob("opencv", "Rotate", 3)), 5 + 0.05 + 30);
}

TEST_F(CostModelTest, PublishedNumberOfTheSameCell) {
  const PublishedNumber* number =
      published_.Find("image-rgb", "micro", "cpu", "Rotate", "pillow");
  ASSERT_NE(number, nullptr);
  ASSERT_GT(number->items_per_s, 20) << "else it stops early";
  EXPECT_NEAR(Seconds(TheJob("pillow", "Rotate", 1)),
              5 + (10 + 2 * 1000) / number->items_per_s, 0.001);
}

TEST_F(CostModelTest, EarlyStoppedCostsItsPreflightAlone) {
  const PublishedNumber* slow = nullptr;
  std::string transform;
  for (const char* name : {"Elastic", "ThinPlateSpline", "MedianBlur"}) {
    const PublishedNumber* number =
        published_.Find("image-rgb", "micro", "cpu", name, "kornia");
    if (number == nullptr || number->items_per_s >= 20) continue;
    slow = number;
    transform = name;
  }
  ASSERT_NE(slow, nullptr) << "no published cell is slow";
  EXPECT_NEAR(Seconds(TheJob("kornia", transform, 5)),
              5 + 10 / slow->items_per_s, 0.001);
  // Unless the caller wants it to the end.
  EXPECT_NEAR(Seconds(TheJob("kornia", transform, 5),
                      std::string(kExecution) + " disable_slow_skip: true"),
              5 + (10 + 5 * 2 * 1000) / slow->items_per_s, 0.001);
}

// 2:08 was estimated for a demo that took 15 s.
TEST_F(CostModelTest, RowsOfEarlierRunsAreBetterThanAnyGuess) {
  MeasuredCosts measured;
  Row row;
  row.set_status("ok");
  row.set_run_id("a");
  row.set_scenario("image-rgb");
  row.set_mode("micro");
  row.set_device("cpu");
  row.set_library("pillow");
  row.set_transform("Rotate");
  row.set_items(500);
  row.set_elapsed_s(1);
  row.set_duration_s(1.5);
  // The second row starts 2.5 s after the first, which took 1.5 s.
  for (const char* start : {"2026-01-01T00:00:00Z", "2026-01-01T00:00:02.5Z"}) {
    row.set_job_id(start);
    row.set_started_at(start);
    measured.Add(row);
  }
  const CostModel model(policy_, published_, &measured);
  const auto of = [&](const Job& job) {
    return model.Of(job, "image", Parse<Execution>(kExecution));
  };
  // Twice the items in 2 s, 0.5 s besides, and half of the 1 s in between.
  const Cost cost = of(TheJob("pillow", "Rotate", 3));
  EXPECT_DOUBLE_EQ(cost.seconds, 0.5 + 3 * 2.5);
  EXPECT_EQ(cost.basis, "rows");
  EXPECT_EQ(of(TheJob("opencv", "Rotate", 1)).basis, "default");
  // Rows of the same job count before those of its cell.
  Job job = TheJob("pillow", "Rotate", 1, 500);
  job.set_job_id("same");
  row.set_job_id("same");
  row.set_run_id("b");
  row.set_duration_s(4);
  measured.Add(row);
  EXPECT_NEAR(of(job).seconds, 1.0 / 3 + 4, 0.001);
  // A time that was `null` does not spoil the others.
  row.set_elapsed_s(std::nan(""));
  measured.Add(row);
  EXPECT_NEAR(of(job).seconds, 1.0 / 3 + 4, 0.001);
  // A failure says nothing about the time that success takes.
  MeasuredCosts failed;
  row.set_status("failed");
  failed.Add(row);
  EXPECT_FALSE(failed.Seconds(job, 500).has_value());
}

TEST_F(CostModelTest, UnsupportedCostsNothing) {
  Job job = TheJob("opencv", "Rotate", 5);
  job.set_unsupported_reason("why");
  EXPECT_EQ(Seconds(job), 0);
}

TEST_F(CostModelTest, MinTimeIsALowerBoundOfARun) {
  const std::string longer =
      "min_time: 60 preflight_items: 10 slow_threshold_s: 0.05";
  EXPECT_DOUBLE_EQ(Seconds(TheJob("opencv", "Rotate", 2), longer),
                   5 + 0.05 + 120);
}

TEST_F(CostModelTest, PreflightIsNotLargerThanTheWork) {
  EXPECT_DOUBLE_EQ(Seconds(TheJob("opencv", "Rotate", 1, 2)), 5 + 0.01 + 0.02);
}

TEST_F(CostModelTest, AllOfTheDataSetIsTakenForImageNet) {
  EXPECT_DOUBLE_EQ(Seconds(TheJob("opencv", "Rotate", 1, 0)),
                   5 + 0.05 + 2 * 50000 / 200.0);
}

TEST_F(CostModelTest, UnknownKindsGetAFallback) {
  Job job = TheJob("x", "y", 1);
  job.set_mode("mixture");
  EXPECT_DOUBLE_EQ(Seconds(job), 5 + 0.1 + 20);
}

// Of all samples, warm-up included, at the rate of the model.
TEST_F(CostModelTest, ATrainingCostsItsSteps) {
  const Policy policy = Parse<Policy>(
      "cost { job_overhead_s: 5 passes_per_run: 2 default_throughput { "
      "media: \"image\" mode: \"train\" device: \"cuda\" "
      "model: \"vit5_small\" items_per_s: 200 } }");
  Job job = TheJob("feedrate", "", 2, 0);
  job.set_mode("train");
  job.set_device("cuda");
  job.set_batch_size(8);
  auto& settings = *job.mutable_settings();
  settings = {};
  settings["model"] = "vit5_small";
  settings["accumulation"] = "4";
  settings["warmup"] = "10";
  settings["steps"] = "90";
  const auto seconds = [&] {
    return CostModel(policy, published_)
        .Of(job, "image", Parse<Execution>(kExecution))
        .seconds;
  };
  EXPECT_DOUBLE_EQ(seconds(), 2 * (5 + 32 * 100 / 200.0));
  settings.erase("steps");
  settings["epochs"] = "3";
  job.set_num_items(1000);
  EXPECT_DOUBLE_EQ(seconds(), 2 * (5 + (32 * 10 + 3000) / 200.0));
  settings["world_size"] = "4";
  EXPECT_DOUBLE_EQ(seconds(), 2 * (5 + (32 * 10 + 750) / 200.0));
  settings["model"] = "vit5_base";
  EXPECT_DOUBLE_EQ(seconds(), 2 * (5 + (32 * 10 + 750) / 100.0));
}

// Rows of a short training tell of a long one of the same model.
TEST_F(CostModelTest, ATrainingCostsWhatItsModelDid) {
  Job job = TheJob("feedrate", "", 1, 0);
  job.set_mode("train");
  job.set_batch_size(8);
  (*job.mutable_settings())["model"] = "vit5_tiny";
  (*job.mutable_settings())["steps"] = "500";
  job.set_job_id("long");
  Row row;
  row.set_status("ok");
  row.set_scenario(job.scenario());
  row.set_job_id("short");
  row.set_mode("train");
  row.set_device("cpu");
  row.set_library("feedrate");
  row.set_items(80);
  row.set_elapsed_s(2);
  row.set_duration_s(3);
  (*row.mutable_settings())["model"] = "vit5_tiny";
  MeasuredCosts measured;
  measured.Add(row);
  const CostModel model(policy_, published_, &measured);
  const auto of = [&] {
    return model.Of(job, "image", Parse<Execution>(kExecution));
  };
  EXPECT_DOUBLE_EQ(of().seconds, 2 * 50 + 1);
  (*job.mutable_settings())["model"] = "vit5_base";
  EXPECT_EQ(of().basis, "default");
}

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Row TheRow(const char* job, int run, const char* status, int attempt = 0) {
  Row row;
  row.set_job_id(job);
  row.set_run_index(run);
  row.set_status(status);
  row.set_attempt(attempt);
  row.set_machine_profile("here");
  row.set_throughput(1);
  return row;
}

TEST(ExistingRunsTest, OnlyWhatSucceededIsDone) {
  ExistingRuns runs("");
  runs.Add(TheRow("a", 0, "ok"));
  for (const char* status : {"failed", "crashed", "timeout", "oom", "odd"}) {
    runs.Add(TheRow(status, 0, status));
    EXPECT_FALSE(runs.Done(status, 0)) << status;
  }
  Row no_rate = TheRow("a", 1, "ok");
  no_rate.set_throughput(std::nan(""));
  runs.Add(no_rate);
  EXPECT_TRUE(runs.Done("a", 0));
  EXPECT_FALSE(runs.Done("a", 1));
  EXPECT_FALSE(runs.Done("other", 0));
}

TEST(ExistingRunsTest, EarlyStopAndUnsupportedAnswerForLaterRuns) {
  ExistingRuns runs("");
  runs.Add(TheRow("slow", 0, "early_stopped"));
  runs.Add(TheRow("none", 0, "unsupported"));
  EXPECT_TRUE(runs.Done("slow", 4));
  EXPECT_TRUE(runs.Done("none", 4));
}

TEST(ExistingRunsTest, TheLastAttemptCounts) {
  ExistingRuns runs("");
  runs.Add(TheRow("a", 0, "crashed", 0));
  runs.Add(TheRow("a", 0, "ok", 1));
  runs.Add(TheRow("b", 0, "failed", 2));
  runs.Add(TheRow("b", 0, "ok", 1));  // Files come in any order.
  EXPECT_TRUE(runs.Done("a", 0));
  EXPECT_FALSE(runs.Done("b", 0));
}

TEST(ExistingRunsTest, OtherMachinesCountOnlyWhenNoneIsAsked) {
  ExistingRuns here("here"), there("there"), any("");
  for (ExistingRuns* runs : {&here, &there, &any}) {
    runs->Add(TheRow("a", 0, "ok"));
  }
  EXPECT_TRUE(here.Done("a", 0));
  EXPECT_FALSE(there.Done("a", 0));
  EXPECT_TRUE(any.Done("a", 0));
}

TEST(ExistingRunsTest, ReadsFilesAndComplains) {
  const std::string path = ::testing::TempDir() + "/existing_runs_test.jsonl";
  std::string content;
  AppendRecord(TheRow("a", 0, "ok"), &content);
  content += "rubbish\n{\"schema\":1,\"record\":\"env\"}\n";
  AppendRecord(TheRow("a", 1, "ok"), &content);
  content += "{\"schema\":1,\"rec";
  ASSERT_TRUE(WriteFileAtomically(path, content).ok());
  ExistingRuns runs("");
  std::vector<std::string> complaints;
  const auto add = [&](const Row& row) { runs.Add(row); };
  ASSERT_TRUE(ReadRows(
                  {path},
                  [&](const std::string& text) { complaints.push_back(text); },
                  add)
                  .ok());
  EXPECT_EQ(runs.rows(), 2);
  EXPECT_TRUE(runs.Done("a", 1));
  EXPECT_THAT(complaints, ElementsAre(HasSubstr(":2: "), HasSubstr(":5: ")));
  EXPECT_EQ(ReadRows(
                {"no/such"}, [](const std::string&) {}, add)
                .code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace feedrate
