#include "lib/storage/remote/gcs_token.h"

#include <fstream>
#include <map>
#include <memory>

#include "gtest/gtest.h"

namespace feedrate {
namespace {

class GcsTokenTest : public ::testing::Test {
 protected:
  std::unique_ptr<GcsToken> Token() {
    return std::make_unique<GcsToken>(
        [this](const std::string& name) {
          const auto found = variables_.find(name);
          return found == variables_.end() ? "" : found->second;
        },
        [this] { return now_; });
  }
  std::map<std::string, std::string> variables_;
  absl::Time now_ = absl::UnixEpoch();
};

TEST_F(GcsTokenTest, ComesFromTheEnvironment) {
  EXPECT_EQ(*Token()->Get(), "");
  variables_["GOOGLE_OAUTH_ACCESS_TOKEN"] = "g";
  EXPECT_EQ(*Token()->Get(), "g");
  variables_["CLOUDSDK_AUTH_ACCESS_TOKEN"] = "c";
  EXPECT_EQ(*Token()->Get(), "c");
}

TEST_F(GcsTokenTest, AFileIsReadAgain) {
  const std::string file = ::testing::TempDir() + "token";
  variables_["CLOUDSDK_AUTH_ACCESS_TOKEN_FILE"] = file;
  std::ofstream(file) << "first\n";
  const auto token = Token();
  EXPECT_EQ(*token->Get(), "first");
  std::ofstream(file) << "second\n";
  EXPECT_EQ(*token->Get(), "first");
  now_ += absl::Minutes(1);
  EXPECT_EQ(*token->Get(), "second");
}

TEST_F(GcsTokenTest, AMissingFileIsAMistake) {
  variables_["CLOUDSDK_AUTH_ACCESS_TOKEN_FILE"] = "/does/not/exist";
  EXPECT_EQ(Token()->Get().status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace feedrate
