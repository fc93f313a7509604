#include "lib/storage/remote/s3_dialect.h"

#include "absl/time/civil_time.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class S3DialectTest : public ::testing::Test {
 protected:
  S3DialectTest() {
    settings_.access_key = "AKID";
    settings_.secret_key = "secret";
    settings_.region = "eu-west-1";
  }
  std::unique_ptr<Dialect> New(const std::string& url) {
    auto dialect = NewS3Dialect(url, settings_, [] {
      return absl::FromCivil(absl::CivilSecond(2026, 1, 2, 3, 4, 5),
                             absl::UTCTimeZone());
    });
    EXPECT_TRUE(dialect.ok()) << dialect.status();
    return *std::move(dialect);
  }
  AwsSettings settings_;
};

TEST_F(S3DialectTest, PutsTheBucketWhereItBelongs) {
  const auto url_of = [this](const std::string& bucket) {
    return New(bucket)->StatRequest("k")->url;
  };
  EXPECT_EQ(url_of("s3://data"), "https://data.s3.eu-west-1.amazonaws.com/k");
  EXPECT_EQ(url_of("s3://my.data"),
            "https://s3.eu-west-1.amazonaws.com/my.data/k");
  settings_.region = "cn-north-1";
  EXPECT_EQ(url_of("s3://data"),
            "https://data.s3.cn-north-1.amazonaws.com.cn/k");
  settings_.endpoint = "http://127.0.0.1:9/minio";
  EXPECT_EQ(url_of("s3://data"), "http://data.127.0.0.1:9/minio/k");
  settings_.path_style = true;
  EXPECT_EQ(url_of("s3://data"), "http://127.0.0.1:9/minio/data/k");
}

TEST_F(S3DialectTest, EncodesKeysAsSignaturesWant) {
  settings_.endpoint = "http://h:80";
  settings_.path_style = true;
  const auto request = New("s3://data/a b")->RangeRequest("é+/x=1", "v", 5, 9);
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->url, "http://h:80/data/a%20b/%C3%A9%2B/x%3D1");
  EXPECT_THAT(request->headers, Contains("range: bytes=5-9"));
  EXPECT_THAT(request->headers, Contains("if-match: \"v\""));
  EXPECT_THAT(request->headers, Contains("x-amz-date: 20260102T030405Z"));
  EXPECT_THAT(request->headers,
              Contains(StartsWith("authorization: AWS4-HMAC-SHA256 "
                                  "Credential=AKID/20260102/eu-west-1/s3/")));
  EXPECT_FALSE(request->follow_redirects);
}

TEST_F(S3DialectTest, SignsTheSessionToken) {
  settings_.session_token = "token";
  const auto request = New("s3://data")->StatRequest("k");
  EXPECT_THAT(request->headers, Contains("x-amz-security-token: token"));
  EXPECT_THAT(request->headers,
              Contains(HasSubstr("SignedHeaders=host;x-amz-checksum-mode;"
                                 "x-amz-content-sha256;x-amz-date;"
                                 "x-amz-security-token,")));
}

TEST_F(S3DialectTest, WithoutKeysNothingIsSigned) {
  settings_.access_key = settings_.secret_key = "";
  const auto request = New("s3://data")->StatRequest("k");
  EXPECT_THAT(request->headers, Each(AllOf(Not(StartsWith("authorization")),
                                           Not(StartsWith("x-amz-date")))));
}

TEST_F(S3DialectTest, ListsPageByPage) {
  const auto dialect = New("s3://data/p");
  EXPECT_THAT(dialect->ListRequest("")->url,
              HasSubstr("/?encoding-type=url&list-type=2&max-keys=1000&"
                        "prefix=p%2F"));
  EXPECT_THAT(dialect->ListRequest("a+/=")->url,
              HasSubstr("?continuation-token=a%2B%2F%3D&"));
}

}  // namespace
}  // namespace feedrate
