#include "lib/runner/input_corpora.h"

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/catalogue/catalogue.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

class InputCorporaTest : public testing::Test {
 protected:
  InputCorporaTest() {
    absl::StatusOr<Catalogue> catalogue = Catalogue::Load("configs");
    EXPECT_TRUE(catalogue.ok()) << catalogue.status();
    catalogue_ = std::make_unique<Catalogue>(*std::move(catalogue));
    corpora_ = std::make_unique<InputCorpora>(*catalogue_, "", nullptr,
                                              [](const std::string&) {});
  }

  static Job MakeJob(const std::string& library,
                     const std::string& scenario = "image-rgb") {
    Job job;
    job.set_scenario(scenario);
    job.set_mode("micro");
    job.set_library(library);
    job.set_dataset("synthetic:rgb,n=3,seed=1");
    job.set_num_items(3);
    return job;
  }

  std::unique_ptr<Catalogue> catalogue_;
  std::unique_ptr<InputCorpora> corpora_;
};

TEST_F(InputCorporaTest, LibrariesOfOneFormShareOneMapping) {
  const auto opencv = corpora_->Get(MakeJob("opencv"));
  ASSERT_TRUE(opencv.ok()) << opencv.status();
  EXPECT_EQ(opencv->corpus->size(), 3);
  EXPECT_EQ(opencv->dataset.files(), 3);
  EXPECT_EQ(corpora_->Get(MakeJob("pillow"))->corpus, opencv->corpus);
  const auto kornia = corpora_->Get(MakeJob("kornia"));
  ASSERT_TRUE(kornia.ok()) << kornia.status();
  EXPECT_NE(kornia->corpus, opencv->corpus);
  EXPECT_EQ(kornia->corpus->dtype(), DType::kFloat32);
  EXPECT_EQ(kornia->corpus->layout(), Layout::kChw);
  EXPECT_EQ(kornia->plain, opencv->corpus);
  EXPECT_EQ(corpora_->Get(MakeJob("null"))->corpus, opencv->corpus);
}

TEST_F(InputCorporaTest, NineChannelsAreThreeTimesThree) {
  const auto input = corpora_->Get(MakeJob("opencv", "image-9ch"));
  ASSERT_TRUE(input.ok()) << input.status();
  EXPECT_EQ(input->corpus->item(0).channels, 9);
  EXPECT_EQ(input->plain->item(0).channels, 9);
}

TEST_F(InputCorporaTest, TooFewImagesAreTheCallersMistake) {
  Job job = MakeJob("opencv");
  job.set_num_items(4);
  const absl::Status status = corpora_->Get(job).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("--num_items=3"));
}

TEST_F(InputCorporaTest, AnIdIsNoPath) {
  Job job = MakeJob("opencv");
  job.set_dataset("val");
  EXPECT_THAT(std::string(corpora_->Get(job).status().message()),
              HasSubstr("--dataset=DIR"));
}

}  // namespace
}  // namespace feedrate
