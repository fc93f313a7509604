#include "lib/storage/remote/redirect.h"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/storage/http/tiny_server.h"
#include "lib/storage/remote/s3_dialect.h"
#include "lib/storage/remote/upload.h"

namespace feedrate {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

class RedirectTest : public ::testing::Test {
 protected:
  RedirectTest() {
    settings_.load = [this] { return keys_; };
    keys_.access_key = "AKID";
    keys_.secret_key = "secret";
    settings_.region = "eu-west-1";
  }
  std::unique_ptr<Dialect> New(const std::string& url) {
    auto dialect = NewS3Dialect(url, settings_, &absl::Now);
    EXPECT_TRUE(dialect.ok()) << dialect.status();
    return *std::move(dialect);
  }
  AwsSettings settings_;
  Credential keys_;
};

std::string HeaderOf(const HttpRequest& sent, absl::string_view name) {
  for (const std::string& header : sent.headers) {
    if (absl::StartsWith(header, name)) return header;
  }
  return "";
}

TEST_F(RedirectTest, SignsARedirectForAHostThatTheUserAllows) {
  settings_.endpoint = "https://h";
  settings_.path_style = true;
  settings_.redirect_hosts = "other:8, 10.0.0.*";
  keys_.token = "token";
  const auto dialect = New("s3://data");
  const auto request = dialect->RangeRequest("a b", "v", 0, 9);
  const auto to = request->redirected("https://other:8/data/a%20b?pid=%2Fp&t");
  ASSERT_TRUE(to.ok()) << to.status();
  EXPECT_EQ(to->url, "https://other:8/data/a%20b?pid=%2Fp&t=");
  EXPECT_THAT(to->headers, Contains("range: bytes=0-9"));
  EXPECT_NE(HeaderOf(*to, "authorization:"), "");
  EXPECT_NE(HeaderOf(*to, "authorization:"),
            HeaderOf(*request, "authorization:"));
  EXPECT_NE(HeaderOf(*request, "x-amz-security-token:"), "");
  EXPECT_EQ(HeaderOf(*to, "x-amz-security-token:"), "");
  EXPECT_TRUE(request->redirected("https://10.0.0.7:81/data/a%20b").ok());
  // A second redirect is measured by what the user named.
  EXPECT_FALSE(to->redirected("https://x.other:8/data/a%20b").ok());
  EXPECT_EQ(to->redirected("https://h/data/a%20b")->url,
            "https://h/data/a%20b");
}

// A store may send us on to the same object of its own hosts, and nowhere else.
TEST_F(RedirectTest, RedirectsStayWithinWhatTheUserNamed) {
  struct Case {
    const char* endpoint;
    bool path_style;
    const char* location;
    bool follows;
  };
  for (const Case& one : std::vector<Case>{
           {"https://h.io", true, "https://h.io:443/data/k", true},
           {"https://h.io", true, "https://n1.h.io/data/k", true},
           {"https://h.io", true, "/data/k", true},
           {"https://h.io", true, "https://n1.h.io/other/k", false},
           {"https://h.io", true, "https://h.io/data/k2", false},
           {"https://h.io", true, "/other/k", false},
           {"https://h.io", true, "https://h.io/data/k?acl", false},
           {"https://h.io", true, "https://h.io:8/data/k", false},
           {"https://h.io", true, "https://evilh.io/data/k", false},
           {"https://h.io", true, "https://h.io.evil/data/k", false},
           {"https://h.io", true, "https://evil/data/k", false},
           {"https://h.io", true, "http://h.io/data/k", false},
           {"https://h.io", true, "ftp://h.io/data/k", false},
           {"https://h.io", true, "file:///data/k", false},
           {"https://h.io", true, "//h.io/data/k", false},
           {"https://h.io", true, "k", false},
           {"https://h.io", true, "", false},
           {"http://10.0.0.1", true, "http://x.10.0.0.1/data/k", false},
           {"https://h.io", false, "https://data.h.io/k", true},
           {"https://h.io", false, "https://data.n1.h.io/k", true},
           {"https://h.io", false, "https://other.h.io/k", false},
           {"https://h.io", false, "https://n1.data.h.io/k", false},
           {"", false, "https://data.s3.us-east-2.amazonaws.com/k", true},
           {"", false, "https://data.s3-us-east-2.amazonaws.com/k", true},
           {"", false, "https://data.s3.amazonaws.com/k", true},
           {"", false, "https://other.s3.us-east-2.amazonaws.com/k", false},
           {"", false, "https://data.s3.x.evil.amazonaws.com/k", false},
           {"", false, "https://data.ec2.amazonaws.com/k", false},
           {"", false, "https://data.s3.us-east-2.amazonaws.com.evil/k", false},
           {"", true, "https://s3.us-east-2.amazonaws.com/data/k", true},
           {"", true, "https://other.s3.us-east-2.amazonaws.com/data/k", false},
       }) {
    settings_.endpoint = one.endpoint;
    settings_.path_style = one.path_style;
    const auto dialect = New("s3://data");
    const auto read = dialect->RangeRequest("k", "v", 0, 9);
    const auto to = read->redirected(one.location);
    EXPECT_EQ(to.ok(), one.follows) << one.endpoint << " " << one.location;
    if (!to.ok()) {
      EXPECT_EQ(to.status().code(), absl::StatusCode::kFailedPrecondition);
    }
    UploadPart part;
    const auto write = dialect->uploads()->WholeRequest("k", part);
    EXPECT_THAT(write->redirected(one.location).status().message(),
                HasSubstr("redirects a write"));
  }
}

TEST_F(RedirectTest, NoOtherHostSeesAWrite) {
  std::atomic<int> others{0};
  TinyServer other([&](const std::string&) {
    ++others;
    return TinyOk("");
  });
  TinyServer server([&](const std::string&) -> TinyAnswer {
    return {absl::StrCat("HTTP/1.1 307 X\r\nLocation: ", other.url(),
                         "/data/k\r\nContent-Length: 0\r\n\r\n"),
            /*close=*/true, false};
  });
  settings_.endpoint = server.url();
  settings_.path_style = true;
  const auto writer = NewBucketWriter(New("s3://data"), StoreOptions());
  ASSERT_TRUE(writer.ok()) << writer.status();
  const auto upload = (*writer)->Start("k");
  ASSERT_TRUE((*upload)->Write("bytes").ok());
  EXPECT_THAT((*upload)->Commit().message(), HasSubstr("redirects a write"));
  EXPECT_EQ(others, 0);
}

TEST_F(RedirectTest, ASessionTokenStaysWithItsHost) {
  keys_.token = "token";
  const auto dialect = New("s3://data");
  const auto to = dialect->StatRequest("k")->redirected(
      "https://data.s3.us-east-2.amazonaws.com/k");
  EXPECT_THAT(to.status().message(), HasSubstr("set AWS_REGION"));
}

}  // namespace
}  // namespace feedrate
