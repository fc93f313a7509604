#include "lib/runner/prepare_command.h"

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

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class PrepareCommandTest : public testing::Test {
 protected:
  PrepareCommandTest() {
    absl::StatusOr<Catalogue> catalogue = Catalogue::Load("configs");
    EXPECT_TRUE(catalogue.ok()) << catalogue.status();
    catalogue_ = std::make_unique<Catalogue>(*std::move(catalogue));
    job_.set_scenario("image-rgb");
    job_.set_mode("micro");
    job_.set_library("pillow");
    job_.set_transform("Resize");
    job_.set_params_profile("paper");
    job_.set_thread_policy("micro-single");
    job_.set_device("cpu");
  }

  std::unique_ptr<Catalogue> catalogue_;
  Job job_;
};

TEST_F(PrepareCommandTest, TakesTheCataloguesParameters) {
  const auto command = PrepareCommandOfJob(*catalogue_, job_);
  ASSERT_TRUE(command.ok()) << command.status();
  EXPECT_EQ(command->native_op, "Image.resize");
  EXPECT_THAT(command->params, Contains(HasSubstr("512")));
  EXPECT_EQ(command->opencv_threads, 0);
  EXPECT_FALSE(command->opencv_opencl);
  EXPECT_EQ(command->torch_intra_op, 1);
}

TEST_F(PrepareCommandTest, AJobWithOtherParametersIsRefused) {
  job_.set_params_sha256("0000");
  const absl::Status status = PrepareCommandOfJob(*catalogue_, job_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("plan it again"));
}

TEST_F(PrepareCommandTest, WhatIsMissingIsNamed) {
  job_.set_transform("Rezise");
  EXPECT_THAT(
      std::string(PrepareCommandOfJob(*catalogue_, job_).status().message()),
      HasSubstr("\"Rezise\" is not in the set of image-rgb"));
  job_.set_transform("Resize");
  job_.set_library("cornea");
  EXPECT_THAT(
      std::string(PrepareCommandOfJob(*catalogue_, job_).status().message()),
      HasSubstr("cornea has no Resize"));
}

TEST_F(PrepareCommandTest, TestLibrariesGetTheirSettings) {
  job_.set_library("faulty");
  job_.set_transform("exit");
  (*job_.mutable_settings())["when"] = "call";
  (*job_.mutable_settings())["code"] = "3";
  const auto command = PrepareCommandOfJob(*catalogue_, job_);
  ASSERT_TRUE(command.ok()) << command.status();
  EXPECT_EQ(command->native_op, "exit");
  EXPECT_THAT(command->params, ElementsAre("code=3", "when=call"));
}

}  // namespace
}  // namespace feedrate
