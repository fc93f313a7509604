#include "lib/runner/copy_limit.h"

#include <string>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "lib/catalogue/catalogue.h"
#include "lib/records/records.pb.h"
#include "lib/runner/input_corpora.h"

namespace feedrate {
namespace {

TEST(CopyLimitTest, IsMeasuredOnceForACorpus) {
  const absl::StatusOr<Catalogue> catalogue = Catalogue::Load("configs");
  ASSERT_TRUE(catalogue.ok()) << catalogue.status();
  Job job;
  job.set_scenario("image-rgb");
  job.set_mode("micro");
  job.set_library("opencv");
  job.set_transform("HorizontalFlip");
  job.set_dataset("synthetic:rgb,n=3,seed=1");
  job.set_num_items(3);
  InputCorpora corpora(*catalogue, "", nullptr, [](const std::string&) {});
  const auto input = corpora.Get(job);
  ASSERT_TRUE(input.ok()) << input.status();
  CopyLimit limit(*catalogue);
  const std::optional<double> first = limit.Of(job, *input->corpus);
  ASSERT_TRUE(first.has_value());
  EXPECT_GT(*first, 0);
  EXPECT_EQ(limit.Of(job, *input->corpus), first);
  job.set_transform("CenterCrop128");
  EXPECT_FALSE(limit.Of(job, *input->corpus).has_value());
}

}  // namespace
}  // namespace feedrate
