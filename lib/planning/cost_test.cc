#include "lib/planning/cost.h"

#include <cstdint>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "lib/catalogue/published_numbers.h"
#include "lib/config/policy.pb.h"
#include "lib/config/run_config.pb.h"
#include "lib/config/text_proto.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

constexpr char kPolicy[] =
    "cost { job_overhead_s: 5 passes_per_run: 2 "
    "default_throughput { media: \"image\" mode: \"micro\" device: \"cpu\" "
    "items_per_s: 200 } }";

// 10 items of preflight; slow from 0.05 s an item.
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
        .Seconds(job, "image", Parse<Execution>(execution));
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
  job.set_mode("train");
  EXPECT_DOUBLE_EQ(Seconds(job), 5 + 0.1 + 20);
}

}  // namespace
}  // namespace feedrate
