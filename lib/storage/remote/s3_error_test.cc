#include "lib/storage/remote/s3_error.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

absl::Status Of(int status, const std::string& code, const std::string& message,
                bool was_signed = true) {
  Secrets secrets;
  secrets.Add("AKIDEXAMPLE");
  secrets.Add("the/secret+key");
  HttpResponse response;
  response.status = status;
  response.headers.Add("x-amz-bucket-region", "eu-west-1");
  response.error_body = "<Error><Code>" + code + "</Code><Message>" + message +
                        "</Message><AWSAccessKeyId>AKIDEXAMPLE"
                        "</AWSAccessKeyId></Error>";
  return S3ErrorStatus(response, secrets, was_signed);
}

TEST(S3ErrorTest, SaysWhatToDo) {
  const absl::Status bucket = Of(404, "NoSuchBucket", "does not exist");
  EXPECT_EQ(bucket.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(bucket.message(),
            "HTTP 404 NoSuchBucket: does not exist; check the bucket's name "
            "and the endpoint");
  const absl::Status expired = Of(400, "ExpiredToken", "has expired");
  EXPECT_EQ(expired.code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(expired.message(), HasSubstr("AWS_SESSION_TOKEN"));
  EXPECT_EQ(Of(403, "SignatureDoesNotMatch", "").code(),
            absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(Of(301, "PermanentRedirect", "").message(),
              HasSubstr("set AWS_REGION=eu-west-1"));
  EXPECT_THAT(Of(403, "AccessDenied", "").message(),
              HasSubstr("check the permissions"));
  EXPECT_THAT(Of(403, "AccessDenied", "", /*was_signed=*/false).message(),
              HasSubstr("without credentials"));
  EXPECT_EQ(Of(503, "SlowDown", "").code(), absl::StatusCode::kUnavailable);
}

TEST(S3ErrorTest, RepeatsNoSecrets) {
  const absl::Status status = Of(
      403, "AccessDenied", "AKIDEXAMPLE, the/secret+key, the%2Fsecret%2Bkey");
  EXPECT_THAT(status.message(), Not(HasSubstr("AKID")));
  EXPECT_THAT(status.message(), Not(HasSubstr("secret")));
}

TEST(S3ErrorTest, ABodyThatIsNoneWillDo) {
  HttpResponse response;
  response.status = 502;
  response.error_body = "<html>Bad Gateway</html>";
  EXPECT_EQ(S3ErrorStatus(response, Secrets(), true),
            absl::UnavailableError("HTTP 502"));
}

}  // namespace
}  // namespace feedrate
