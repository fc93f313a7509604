#include "lib/storage/remote/web_dialect.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::unique_ptr<Dialect> New(const std::string& url) {
  auto dialect = NewWebDialect(url);
  EXPECT_TRUE(dialect.ok()) << dialect.status();
  return *std::move(dialect);
}

TEST(WebDialectTest, NamesBeginAfterTheFolder) {
  const auto dialect = New("https://h:1/a b/%C3%BC/s-{0..1}/x y.tar?k=v");
  EXPECT_THAT(dialect->fixed_names(),
              ElementsAre("s-0/x y.tar", "s-1/x y.tar"));
  EXPECT_EQ(dialect->RangeRequest("s-0/x y.tar", "", 0, 4)->url,
            "https://h:1/a%20b/%C3%BC/s-0/x%20y.tar?k=v");
  EXPECT_EQ(dialect->url(), "https://h:1/a b/%C3%BC/s-{0..1}/x y.tar");
  EXPECT_THAT(dialect->AddressOf("s-0/x"), Not(HasSubstr("k=v")));
  EXPECT_THAT(New("http://h/100%25.bin")->fixed_names(),
              ElementsAre("100%.bin"));
}

TEST(WebDialectTest, AsksForTheVersionThatWasSeen) {
  const auto dialect = New("https://h/x");
  HttpHeaders headers;
  headers.Add("Last-Modified", "Wed, 21 Oct 2026 07:28:00 GMT");
  const std::string dated = dialect->FactsOf(headers).version;
  EXPECT_THAT(dialect->RangeRequest("x", dated, 0, 4)->headers,
              Contains("if-unmodified-since: Wed, 21 Oct 2026 07:28:00 GMT"));
  headers.Add("ETag", "W/\"weak\"");
  EXPECT_EQ(dialect->FactsOf(headers).version, dated);
  HttpHeaders strong;
  strong.Add("ETag", "\"strong\"");
  EXPECT_THAT(dialect->RangeRequest("x", dialect->FactsOf(strong).version, 0, 4)
                  ->headers,
              Contains("if-match: \"strong\""));
}

TEST(WebDialectTest, SizesComeFromTheRangeOrTheLength) {
  const auto dialect = New("https://h/x");
  HttpResponse response;
  response.status = 206;
  response.headers.Add("content-length", "1");
  EXPECT_EQ(dialect->ParseStat("x", response, "")->bytes, 1);
  response.headers.Add("content-range", "bytes 0-0/77");
  EXPECT_EQ(dialect->ParseStat("x", response, "")->bytes, 77);
  HttpResponse empty;
  empty.status = 416;
  empty.headers.Add("content-range", "bytes */0");
  EXPECT_EQ(dialect->ParseStat("x", empty, "")->bytes, 0);
  EXPECT_FALSE(dialect->ParseStat("x", HttpResponse(), "").ok());
}

TEST(WebDialectTest, RefusesWhatCannotBeRead) {
  for (const char* url :
       {"https://h", "https://h/", "https://h/a/", "https://h/{2..1}",
        "https://h/a/..", "https://h/%2e%2e", "https://h/a%0ab"}) {
    EXPECT_EQ(NewWebDialect(url).status().code(),
              absl::StatusCode::kInvalidArgument)
        << url;
  }
}

}  // namespace
}  // namespace feedrate
