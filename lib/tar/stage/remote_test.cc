#include "lib/tar/stage/remote.h"

#include <gtest/gtest.h>

namespace feedrate::tar {
namespace {

TEST(IsRemote, KnowsTheSchemes) {
  for (const char* url :
       {"https://h/x", "http://h/x", "gs://b/o", "s3://b/k"}) {
    EXPECT_TRUE(IsRemote(url)) << url;
  }
  for (const char* path : {"-", "/a", "file:///a", "https", "s3:/b"}) {
    EXPECT_FALSE(IsRemote(path)) << path;
  }
}

TEST(ParseHttpHead, ReadsTheLastAnswer) {
  const RemoteInfo info = ParseHttpHead(
      "HTTP/1.1 302 Found\r\nContent-Length: 5\r\nETag: \"old\"\r\n\r\n"
      "HTTP/2 200\r\ncontent-length: 14136559616\r\netag: \"new\"\r\n\r\n");
  EXPECT_EQ(info.size, 14136559616u);
  EXPECT_EQ(info.version, "\"new\"");
}

TEST(ParseHttpHead, DoesWithoutAnEtag) {
  const RemoteInfo info =
      ParseHttpHead("HTTP/1.1 200 OK\r\nLast-Modified: yesterday\r\n\r\n");
  EXPECT_FALSE(info.size.has_value());
  EXPECT_EQ(info.version, "yesterday");
  EXPECT_EQ(ParseHttpHead("HTTP/1.1 200 OK\r\n\r\n").version, "");
}

TEST(ParseJsonDescription, ReadsAws) {
  const RemoteInfo info = ParseJsonDescription(
      "{\n    \"AcceptRanges\": \"bytes\",\n    \"ContentLength\": 10240,\n"
      "    \"ETag\": \"\\\"d41d8\\\"\"\n}\n");
  EXPECT_EQ(info.size, 10240u);
  EXPECT_EQ(info.version, "\"d41d8\"");
}

TEST(ParseJsonDescription, ReadsGcloud) {
  const RemoteInfo info = ParseJsonDescription(
      "{\"etag\": \"CJ\", \"generation\": \"1700\", \"size\": 42}");
  EXPECT_EQ(info.size, 42u);
  EXPECT_EQ(info.version, "1700");
}

TEST(ParseGsutilStat, ReadsSizeAndGeneration) {
  const RemoteInfo info = ParseGsutilStat(
      "gs://b/o:\n    Content-Length:         42\n    Generation:  1700\n");
  EXPECT_EQ(info.size, 42u);
  EXPECT_EQ(info.version, "1700");
}

TEST(FetchCommand, PassesTheUrlAsOneWord) {
  std::vector<std::string> argv;
  ASSERT_TRUE(FetchCommand("https://h/a b;$(x)", &argv).ok());
  EXPECT_EQ(argv.front(), "curl");
  EXPECT_EQ(argv.back(), "https://h/a b;$(x)");
  ASSERT_TRUE(FetchCommand("s3://b/k", &argv).ok());
  EXPECT_EQ(argv,
            (std::vector<std::string>{"aws", "s3", "cp", "--only-show-errors",
                                      "s3://b/k", "-"}));
}

}  // namespace
}  // namespace feedrate::tar
