#include "lib/planning/plan_summary.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/config/text_proto.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kConfig[] = R"(
selection {
  scenario: "image-rgb" mode: "pipeline" libraries: [ "kornia", "pillow" ]
  params_profile: "paper" env_set: "current"
}
data { id: "val" num_items: 100 }
execution {
  num_runs: 2 batch_size: 64 workers: 8 scope: "memory_dataloader_augment"
  device: "cuda" thread_policy: "default"
}
output { path: "out" }
)";

RunConfig Config(const std::string& more = "") {
  RunConfig config;
  EXPECT_TRUE(ParseTextProto(absl::StrCat(kConfig, more), "f", &config).ok());
  return config;
}

Job TheJob(const std::string& library, const std::string& transform,
           double cost_s) {
  Job job;
  job.set_library(library);
  job.set_transform(transform);
  job.set_device("cuda");
  job.set_cost_s(cost_s);
  job.add_run_indexes(0);
  job.add_run_indexes(1);
  job.set_output(absl::StrCat(library, ".jsonl"));
  return job;
}

TEST(PlanSummaryTest, Golden) {
  const RunConfig config =
      Config("sweep { name: \"prefetch\" values: [\"1\", \"2\"] }");
  PlanSummary summary("a/b.textproto", config);
  summary.AddJob(TheJob("kornia", "Resize", 59.4));
  Job labeled = TheJob("kornia", "Rotate", 3600);
  labeled.add_labels("cold");
  labeled.add_labels("exploratory");
  summary.AddJob(labeled);
  Job unsupported = TheJob("kornia", "Affine", 0);
  unsupported.set_unsupported_reason("Kornia cannot.");
  summary.AddJob(unsupported);
  summary.AddExcluded({"pillow", "Resize", "no direct equivalent"});
  summary.AddExcluded({"pillow", "Rotate", "no direct equivalent"});
  summary.AddExcluded({"pillow", "Affine", "too slow"});
  summary.AddDone(labeled);
  EXPECT_EQ(summary.ToText(), R"(a/b.textproto
image-rgb pipeline (memory_dataloader_augment) on cuda, 100 items of val, batch 64, 8 workers, 2 runs, default, parameters paper, versions current
sweep prefetch over 1, 2

library  device  jobs  runs  unsupported  estimate  labels
────────────────────────────────────────────────────────────────────
kornia   cuda       3     6            1   1:00:59  cold exploratory
pillow              0     0            0       0 s
────────────────────────────────────────────────────────────────────
all                 3     6            1   1:00:59

1 job has all its runs already and is left out.

expected file     jobs
──────────────────────
out/kornia.jsonl     3

Left out, no job:
reason                cells  which
─────────────────────────────────────────────────────────
no direct equivalent      2  pillow Resize, pillow Rotate
too slow                  1  pillow Affine

Unsupported, a job that is answered at once:
reason          cells  which
────────────────────────────────────
Kornia cannot.      1  kornia Affine
)");
}

TEST(PlanSummaryTest, EstimatesSayWhatTheyRestOn) {
  const RunConfig config = Config();
  PlanSummary summary("x", config);
  Job job = TheJob("kornia", "Resize", 1);
  job.set_cost_basis("default");
  summary.AddJob(job);
  EXPECT_THAT(summary.ToText(),
              HasSubstr("rest on the policy's defaults (1 job); --rows=FILE"));
  job.set_cost_basis("rows");
  summary.AddJob(job);
  summary.AddJob(job);
  EXPECT_THAT(summary.ToText(),
              HasSubstr("rest on measured rows (2 jobs), the policy's defaults "
                        "(1 job).\n"));
}

TEST(PlanSummaryTest, NothingIsSaidOfWhatIsNotThere) {
  const RunConfig config = Config();
  PlanSummary summary("x", config);
  summary.AddJob(TheJob("kornia", "Resize", 1));
  const std::string text = summary.ToText();
  EXPECT_THAT(text, Not(HasSubstr("sweep")));
  EXPECT_THAT(text, Not(HasSubstr("Left out")));
  EXPECT_THAT(text, Not(HasSubstr("Unsupported")));
  EXPECT_THAT(text, Not(HasSubstr("have all their runs")));
}

TEST(PlanSummaryTest, AllItemsOneRunNoBatchesAndStandardOutput) {
  RunConfig config = Config();
  config.mutable_data()->clear_num_items();
  config.mutable_execution()->clear_batch_size();
  config.mutable_execution()->set_num_runs(1);
  config.mutable_output()->set_path("-");
  PlanSummary summary("x", config);
  summary.AddJob(TheJob("kornia", "Resize", 1));
  EXPECT_THAT(summary.ToText(), HasSubstr("all of val, 1 run, default"));
  EXPECT_THAT(summary.ToText(), HasSubstr("\nkornia.jsonl"));
}

TEST(PlanSummaryTest, LongListsAreCounted) {
  const RunConfig config = Config();
  PlanSummary summary("x", config);
  for (int i = 0; i < 10; ++i) {
    summary.AddExcluded({"pillow", absl::StrCat("T", i), "why"});
  }
  EXPECT_THAT(summary.ToText(), HasSubstr("pillow T7 and 2 more"));
}

TEST(DurationTextTest, SecondsMinutesHours) {
  EXPECT_EQ(DurationText(0), "0 s");
  EXPECT_EQ(DurationText(59.4), "59 s");
  EXPECT_EQ(DurationText(59.6), "1:00");
  EXPECT_EQ(DurationText(125), "2:05");
  EXPECT_EQ(DurationText(3599.5), "1:00:00");
  EXPECT_EQ(DurationText(100 * 3600 + 61), "100:01:01");
}

// num_items up to 2^63 is allowed, if not wise.
TEST(DurationTextTest, LongerThanAnybodyWaits) {
  EXPECT_EQ(DurationText(1e19), "over 30 years");
  EXPECT_EQ(DurationText(std::numeric_limits<double>::infinity()),
            "over 30 years");
}

}  // namespace
}  // namespace feedrate
