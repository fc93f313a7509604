#include "lib/storage/remote/gcs_dialect.h"

#include <map>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class GcsDialectTest : public ::testing::Test {
 protected:
  std::unique_ptr<Dialect> New(const std::string& url) {
    auto dialect = NewGcsDialect(
        url, options_,
        [this](const std::string& name) {
          const auto found = variables_.find(name);
          return found == variables_.end() ? "" : found->second;
        },
        &absl::Now);
    EXPECT_TRUE(dialect.ok()) << dialect.status();
    return *std::move(dialect);
  }
  StoreOptions options_;
  std::map<std::string, std::string> variables_;
};

TEST_F(GcsDialectTest, AsksGoogleOrAnEmulator) {
  EXPECT_EQ(New("gs://data/p")->StatRequest("a b/é")->url,
            "https://storage.googleapis.com/storage/v1/b/data/o/"
            "p%2Fa%20b%2F%C3%A9");
  variables_["STORAGE_EMULATOR_HOST"] = "localhost:9023";
  EXPECT_EQ(New("gs://data")->RangeRequest("k", "7", 0, 9)->url,
            "http://localhost:9023/storage/v1/b/data/o/"
            "k?alt=media&ifGenerationMatch=7");
  options_.endpoint = "http://127.0.0.1:1/";
  EXPECT_THAT(New("gs://data/p")->ListRequest("t=")->url,
              HasSubstr("http://127.0.0.1:1/storage/v1/b/data/o?fields="));
}

TEST_F(GcsDialectTest, SendsTheTokenUnlessAnonymous) {
  EXPECT_THAT(New("gs://data")->StatRequest("k")->headers, IsEmpty());
  variables_["CLOUDSDK_AUTH_ACCESS_TOKEN"] = "hunter2";
  EXPECT_THAT(New("gs://data")->StatRequest("k")->headers,
              Contains("authorization: Bearer hunter2"));
  options_.anonymous = true;
  EXPECT_THAT(New("gs://data")->StatRequest("k")->headers, IsEmpty());
}

TEST_F(GcsDialectTest, ErrorsSayWhatToDoWithoutTheToken) {
  HttpResponse response;
  response.status = 401;
  response.error_body =
      R"({"error": {"code": 401, "message": "Bearer hunter2 is old"}})";
  EXPECT_THAT(std::string(New("gs://b")->ErrorOf(response).message()),
              HasSubstr("gcloud auth print-access-token"));
  variables_["CLOUDSDK_AUTH_ACCESS_TOKEN"] = "hunter2";
  const absl::Status status = New("gs://b")->ErrorOf(response);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(std::string(status.message()), HasSubstr("has expired"));
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("hunter2")));
}

}  // namespace
}  // namespace feedrate
