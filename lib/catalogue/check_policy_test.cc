#include "lib/catalogue/check_policy.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/config/policy.pb.h"
#include "lib/config/text_proto.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

constexpr char kGood[] = R"(
  media { media: "image" slow_skip: true slow_threshold_s: 1
          preflight_items: 1 preflight_passes: 1 max_preflight_s: 1
          slow_marker: "slow" }
  media { media: "clip" slow_skip: true slow_threshold_s: 1
          preflight_items: 1 preflight_passes: 1 max_preflight_s: 1
          slow_marker: "slow" }
  threads { name: "one" modes: "micro" }
  modes { mode: "micro" media: "image" tool: "micro" default_num_items: 9
          default_scope: "s" default_thread_policy: "one" scopes: "s" }
  runs { default_num_runs: 5 }
  timing { min_batches: 1 }
  cost { job_overhead_s: 0 passes_per_run: 1
         default_throughput { media: "image" mode: "micro" device: "cpu"
                              items_per_s: 5 } }
)";

Policy Good() {
  Policy policy;
  EXPECT_TRUE(ParseTextProto(kGood, "good", &policy).ok());
  return policy;
}

std::string ErrorOf(const Policy& policy) {
  return std::string(CheckPolicy(policy, "p").message());
}

TEST(CheckPolicyTest, AcceptsTheSmallestPolicy) {
  EXPECT_EQ(ErrorOf(Good()), "");
}

TEST(CheckPolicyTest, BothMediaAreNeeded) {
  Policy policy = Good();
  policy.mutable_media()->RemoveLast();
  EXPECT_THAT(ErrorOf(policy), HasSubstr("an entry each for image and clip"));
}

TEST(CheckPolicyTest, NumbersAreWithinBounds) {
  Policy policy = Good();
  policy.mutable_media(0)->set_slow_threshold_s(0);
  EXPECT_EQ(ErrorOf(policy),
            "p: media[0] (image): slow_threshold_s must be above 0");
  policy = Good();
  policy.mutable_media(1)->set_preflight_items(0);
  EXPECT_THAT(ErrorOf(policy), HasSubstr("media[1] (clip): preflight_items"));
  policy = Good();
  policy.mutable_runs()->set_default_num_runs(0);
  EXPECT_THAT(ErrorOf(policy), HasSubstr("runs.default_num_runs"));
  policy = Good();
  policy.mutable_cost()->mutable_default_throughput(0)->set_items_per_s(0);
  EXPECT_EQ(ErrorOf(policy),
            "p: cost.default_throughput[0] (image, micro, cpu): items_per_s "
            "must be above 0");
  policy = Good();
  policy.mutable_cost()->clear_job_overhead_s();
  EXPECT_THAT(ErrorOf(policy), HasSubstr("job_overhead_s"));
}

TEST(CheckPolicyTest, DefaultsAreAmongTheirChoices) {
  Policy policy = Good();
  policy.mutable_modes(0)->set_default_scope("t");
  EXPECT_THAT(ErrorOf(policy),
              HasSubstr("modes[0] (micro, image): default_scope \"t\" is "
                        "unknown"));
  policy = Good();
  policy.mutable_threads(0)->set_modes(0, "pipeline");
  EXPECT_THAT(ErrorOf(policy), HasSubstr("default_thread_policy \"one\""));
}

TEST(CheckPolicyTest, NothingIsThereTwice) {
  Policy policy = Good();
  *policy.add_media() = policy.media(0);
  EXPECT_THAT(ErrorOf(policy), HasSubstr("media[2] (image)"));
  policy = Good();
  *policy.add_modes() = policy.modes(0);
  EXPECT_THAT(ErrorOf(policy), HasSubstr("modes[1]"));
  policy = Good();
  *policy.add_threads() = policy.threads(0);
  EXPECT_EQ(ErrorOf(policy), "p: threads[1] (one): this name is taken");
  policy = Good();
  *policy.mutable_cost()->add_default_throughput() =
      policy.cost().default_throughput(0);
  EXPECT_THAT(ErrorOf(policy), HasSubstr("there twice"));
}

TEST(CheckPolicyTest, CampaignEntriesAreWhole) {
  Policy policy = Good();
  policy.add_timeouts()->set_step("boot");
  EXPECT_EQ(ErrorOf(policy), "p: timeouts[0] (boot): seconds must be above 0");
  policy = Good();
  policy.add_paper_order()->set_mode("micro");
  EXPECT_EQ(ErrorOf(policy), "p: paper_order[0]: scenario is missing");
  policy = Good();
  policy.add_pinned_versions()->set_package("numpy");
  EXPECT_EQ(ErrorOf(policy),
            "p: pinned_versions[0] (numpy): version is missing");
}

TEST(CheckPolicyTest, CoverageIsLooseOrLeftOut) {
  Policy policy = Good();
  CoveragePolicy* coverage = policy.mutable_coverage();
  coverage->set_copy_slack(2);
  coverage->set_pipeline_crop(224);
  coverage->set_limit_slack(1.25);
  coverage->set_video_over_image(20);
  EXPECT_EQ(ErrorOf(policy), "");
  coverage->set_copy_slack(0.9);
  EXPECT_EQ(ErrorOf(policy), "p: coverage.copy_slack must be at least 1");
}

}  // namespace
}  // namespace feedrate
