#include "lib/storage/remote/sigv4.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::EndsWith;
using ::testing::StartsWith;

// The examples of "Authenticating Requests: Using the Authorization Header" in
// the reference of Amazon S3.
class SigV4S3Test : public ::testing::Test {
 protected:
  SigV4S3Test() {
    key_.access_key = "AKIAIOSFODNN7EXAMPLE";
    key_.secret_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
    key_.region = "us-east-1";
    request_.path = "/";
    request_.headers = {{"host", "examplebucket.s3.amazonaws.com"},
                        {"x-amz-content-sha256", std::string(kEmptyBodySha256)},
                        {"x-amz-date", "20130524T000000Z"}};
  }
  std::string Authorization() { return SigV4Authorization(request_, key_); }

  SigV4Key key_;
  SigV4Request request_;
};

TEST_F(SigV4S3Test, GetsAnObject) {
  request_.path = "/test.txt";
  request_.headers["range"] = "bytes=0-9";
  EXPECT_EQ(Authorization(),
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/"
            "us-east-1/s3/aws4_request, SignedHeaders=host;range;"
            "x-amz-content-sha256;x-amz-date, Signature="
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST_F(SigV4S3Test, GetsALifecycle) {
  request_.query = "lifecycle=";
  EXPECT_THAT(
      Authorization(),
      EndsWith("Signature="
               "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783"
               "543"));
}

TEST_F(SigV4S3Test, ListsObjects) {
  request_.query = "max-keys=2&prefix=J";
  EXPECT_THAT(
      Authorization(),
      EndsWith("Signature="
               "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc"
               "6f7"));
}

// get-vanilla and get-vanilla-query-order-key-case of AWS's signature test
// suite.
class SigV4SuiteTest : public SigV4S3Test {
 protected:
  SigV4SuiteTest() {
    key_.access_key = "AKIDEXAMPLE";
    key_.secret_key = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
    key_.service = "service";
    request_.headers = {{"host", "example.amazonaws.com"},
                        {"x-amz-date", "20150830T123600Z"}};
  }
};

TEST_F(SigV4SuiteTest, GetVanilla) {
  EXPECT_THAT(
      Authorization(),
      EndsWith("Signature="
               "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fb"
               "f31"));
}

TEST_F(SigV4SuiteTest, GetVanillaQueryOrder) {
  request_.query = "Param1=value1&Param2=value2";
  EXPECT_THAT(
      Authorization(),
      EndsWith("Signature="
               "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2"
               "500"));
}

TEST_F(SigV4SuiteTest, PostVanilla) {
  request_.method = "POST";
  EXPECT_THAT(
      Authorization(),
      EndsWith("Signature="
               "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5"
               "d6b"));
}

TEST_F(SigV4SuiteTest, NamesTheScope) {
  EXPECT_THAT(Authorization(),
              StartsWith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/"
                         "us-east-1/service/aws4_request, "
                         "SignedHeaders=host;x-amz-date, Signature="));
}

}  // namespace
}  // namespace feedrate
