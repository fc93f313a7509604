#include "lib/storage/remote/aws_settings.h"

#include <fstream>
#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class AwsSettingsTest : public ::testing::Test {
 protected:
  AwsSettingsTest() {
    variables_["AWS_CONFIG_FILE"] = ::testing::TempDir() + "aws_config";
    variables_["AWS_SHARED_CREDENTIALS_FILE"] =
        ::testing::TempDir() + "aws_credentials";
    Write("AWS_CONFIG_FILE", "");
    Write("AWS_SHARED_CREDENTIALS_FILE", "");
  }
  void Write(const std::string& variable, const std::string& text) {
    std::ofstream(variables_[variable]) << text;
  }
  absl::StatusOr<AwsSettings> Find() {
    return FindAwsSettings(options_, [this](const std::string& name) {
      const auto found = variables_.find(name);
      return found == variables_.end() ? "" : found->second;
    });
  }

  StoreOptions options_;
  std::map<std::string, std::string> variables_;
};

TEST_F(AwsSettingsTest, NothingSaidIsAnonymous) {
  const auto found = Find();
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->access_key, "");
  EXPECT_EQ(found->region, "us-east-1");
  EXPECT_EQ(found->endpoint, "");
  EXPECT_FALSE(found->path_style);
}

TEST_F(AwsSettingsTest, VariablesOutrankProfiles) {
  Write("AWS_SHARED_CREDENTIALS_FILE",
        "[default]\naws_access_key_id = FILE\naws_secret_access_key = f\n"
        "aws_session_token = old\n");
  Write("AWS_CONFIG_FILE", "[default]\nregion = eu-north-1\n");
  EXPECT_EQ(Find()->access_key, "FILE");
  EXPECT_EQ(Find()->session_token, "old");
  EXPECT_EQ(Find()->region, "eu-north-1");
  variables_["AWS_ACCESS_KEY_ID"] = "ENV";
  variables_["AWS_SECRET_ACCESS_KEY"] = "e";
  variables_["AWS_REGION"] = "eu-west-1";
  EXPECT_EQ(Find()->access_key, "ENV");
  EXPECT_EQ(Find()->secret_key, "e");
  // The token of other keys would break these.
  EXPECT_EQ(Find()->session_token, "");
  EXPECT_EQ(Find()->region, "eu-west-1");
  options_.anonymous = true;
  EXPECT_EQ(Find()->access_key, "");
}

TEST_F(AwsSettingsTest, ReadsTheNamedProfile) {
  Write("AWS_SHARED_CREDENTIALS_FILE",
        "[default]\naws_access_key_id = D\naws_secret_access_key = d\n"
        "[lab]\naws_access_key_id = L\naws_secret_access_key = l\n");
  Write("AWS_CONFIG_FILE",
        "[profile lab]\nregion = r\nservices = mine\n"
        "s3 =\n  addressing_style = virtual\n"
        "[services mine]\ns3 =\n  endpoint_url = http://h:1\n");
  variables_["AWS_PROFILE"] = "lab";
  const auto found = Find();
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->access_key, "L");
  EXPECT_EQ(found->region, "r");
  EXPECT_EQ(found->endpoint, "http://h:1");
  EXPECT_FALSE(found->path_style);
  variables_["AWS_PROFILE"] = "missing";
  EXPECT_THAT(Find().status().message(), HasSubstr("no profile \"missing\""));
}

TEST_F(AwsSettingsTest, AnEndpointOfOnesOwnMeansPathStyle) {
  variables_["AWS_ENDPOINT_URL"] = "http://127.0.0.1:1";
  EXPECT_EQ(Find()->endpoint, "http://127.0.0.1:1");
  EXPECT_TRUE(Find()->path_style);
  variables_["AWS_ENDPOINT_URL_S3"] = "http://127.0.0.1:2";
  EXPECT_EQ(Find()->endpoint, "http://127.0.0.1:2");
  options_.endpoint = "http://127.0.0.1:3/";
  EXPECT_EQ(Find()->endpoint, "http://127.0.0.1:3");
  options_.endpoint = "ftp://x";
  EXPECT_FALSE(Find().ok());
}

TEST_F(AwsSettingsTest, HalfOfTheKeysIsAMistake) {
  variables_["AWS_SECRET_ACCESS_KEY"] = "hunter2";
  const absl::Status status = Find().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("AWS_ACCESS_KEY_ID"));
  EXPECT_THAT(status.message(), Not(HasSubstr("hunter2")));
}

}  // namespace
}  // namespace feedrate
