#include "lib/storage/http/url.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(PercentEncodeTest, LeavesOnlyWhatSignaturesLeave) {
  EXPECT_EQ(PercentEncode("aZ09-._~"), "aZ09-._~");
  EXPECT_EQ(PercentEncode("a/b c+d=,é"), "a%2Fb%20c%2Bd%3D%2C%C3%A9");
  EXPECT_EQ(PercentEncode("a/b c", /*keep_slash=*/true), "a/b%20c");
}

TEST(PercentDecodeTest, UndoesTheEncoding) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  EXPECT_EQ(PercentDecode(PercentEncode(all)), all);
  EXPECT_EQ(PercentDecode("100%"), "100%");
  EXPECT_EQ(PercentDecode("%zz%4"), "%zz%4");
  EXPECT_EQ(PercentDecode("a+b"), "a+b");
  EXPECT_EQ(PercentDecode("a+b%2B", /*plus_is_space=*/true), "a b+");
}

TEST(EncodeQueryTest, SortsByTheEncodedName) {
  EXPECT_EQ(EncodeQuery({}), "");
  EXPECT_EQ(EncodeQuery({{"prefix", "a/b"}, {"list-type", "2"}, {"acl", ""}}),
            "acl=&list-type=2&prefix=a%2Fb");
}

TEST(ParseUrlTest, TakesAnAddressApart) {
  const auto url = ParseUrl("HTTPS://host.example:81/a b/%20?x=1&y#part");
  ASSERT_TRUE(url.ok()) << url.status();
  EXPECT_EQ(url->scheme, "https");
  EXPECT_EQ(url->host, "host.example:81");
  EXPECT_EQ(url->path, "/a b/%20");
  EXPECT_EQ(url->query, "x=1&y");
  EXPECT_EQ(ParseUrl("s3://bucket")->path, "");
}

TEST(ParseUrlTest, RefusesWithoutRepeatingASecret) {
  for (const char* bad : {"", "x", "://x", "s3://", "s3:///key", "s3://a b/c",
                          "http://h\n/x", "http://h/\x01"}) {
    EXPECT_FALSE(ParseUrl(bad).ok()) << bad;
  }
  const auto secret = ParseUrl("https://me:hunter2@host/x");
  EXPECT_THAT(secret.status().message(), HasSubstr("password"));
  EXPECT_THAT(secret.status().message(), Not(HasSubstr("hunter2")));
}

TEST(ParseEndpointTest, TakesAServerWithOrWithoutAScheme) {
  EXPECT_EQ(*ParseEndpoint("http://127.0.0.1:90/", "https", "E"),
            "http://127.0.0.1:90");
  EXPECT_EQ(*ParseEndpoint("localhost:9023", "http", "E"),
            "http://localhost:9023");
  EXPECT_EQ(*ParseEndpoint("https://h/minio/", "http", "E"), "https://h/minio");
  const auto bad = ParseEndpoint("ftp://x", "http", "--endpoint");
  EXPECT_THAT(bad.status().message(), HasSubstr("--endpoint: must begin with"));
}

}  // namespace
}  // namespace feedrate
