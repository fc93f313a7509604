#include "lib/storage/remote/dialect.h"

#include <atomic>
#include <fstream>
#include <map>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/storage/http/client.h"
#include "lib/storage/remote/credentials.h"
#include "lib/storage/remote/gcs_dialect.h"
#include "lib/storage/remote/web_dialect.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

TEST(ObjectNameTest, TakesWhatPeopleWrite) {
  for (const char* name :
       {"a", "a/b.jpg", "with space/é ü 写真.png", "a+b=c,d&e?f#g%20", "a//b",
        "...", "a..b", ".hidden", "x/..y"}) {
    EXPECT_TRUE(CheckObjectName(name).ok()) << name;
  }
}

TEST(ObjectNameTest, SaysWhatIsWrong) {
  const auto wrong = [](const std::string& name) {
    return std::string(CheckObjectName(name).message());
  };
  EXPECT_THAT(wrong(""), HasSubstr("is empty"));
  EXPECT_THAT(wrong("/a"), HasSubstr("begins with a slash"));
  EXPECT_THAT(wrong("a/../b"), HasSubstr("\"a/../b\" has a part '..'"));
  EXPECT_THAT(wrong(".."), HasSubstr("has a part '..'"));
  EXPECT_THAT(wrong("./a"), HasSubstr("has a part '.'"));
  EXPECT_THAT(wrong("a\nb"), HasSubstr("\"a\\nb\" holds a control character"));
  EXPECT_THAT(wrong(std::string(1025, 'x')), HasSubstr("1024 bytes"));
}

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(BraceListTest, CountsWithTheZerosThatAreWritten) {
  const auto names = ExpandBraceLists("shard-{008..011}.tar");
  ASSERT_TRUE(names.ok()) << names.status();
  EXPECT_THAT(*names, ElementsAre("shard-008.tar", "shard-009.tar",
                                  "shard-010.tar", "shard-011.tar"));
  EXPECT_THAT(*ExpandBraceLists("{9..11}"), ElementsAre("9", "10", "11"));
  EXPECT_THAT(*ExpandBraceLists("{0..1}"), ElementsAre("0", "1"));
  EXPECT_EQ(ExpandBraceLists("{000..099}")->size(), 100);
}

TEST(BraceListTest, ListsMultiply) {
  EXPECT_THAT(
      *ExpandBraceLists("{train,val}/{0..1}.tar"),
      ElementsAre("train/0.tar", "train/1.tar", "val/0.tar", "val/1.tar"));
}

TEST(BraceListTest, OtherBracesAreLetters) {
  for (const char* text : {"a", "{a}", "{}", "{a..b}", "x{1..", "}{", "{1}"}) {
    EXPECT_THAT(*ExpandBraceLists(text), ElementsAre(text));
    EXPECT_EQ(FindBraceList(text), absl::string_view::npos) << text;
  }
  EXPECT_EQ(FindBraceList("{a}/b{1..2}"), 5);
}

TEST(BraceListTest, RefusesWhatCannotBeMeant) {
  const auto wrong = [](const char* text) {
    return std::string(ExpandBraceLists(text).status().message());
  };
  EXPECT_THAT(wrong("{9..0}"), HasSubstr("{9..0} runs backwards"));
  EXPECT_THAT(wrong("{0..99999999}"), HasSubstr("more than a million"));
  EXPECT_THAT(wrong("{0..9999}{0..9999}"), HasSubstr("more than a million"));
  EXPECT_THAT(wrong("{a,b,a}"), HasSubstr("names a twice"));
}

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::unique_ptr<BucketPath> Parsed(const std::string& url) {
  auto path = BucketPath::Parse(url);
  EXPECT_TRUE(path.ok()) << path.status();
  return *std::move(path);
}

TEST(BucketPathTest, AFolderOfABucket) {
  for (const char* url : {"s3://data/a b/ü?#", "s3://data/a b/ü?#/"}) {
    const auto path = Parsed(url);
    EXPECT_EQ(path->bucket(), "data");
    EXPECT_EQ(path->prefix(), "a b/ü?#/");
    EXPECT_EQ(path->KeyOf("x/y"), "a b/ü?#/x/y");
    EXPECT_EQ(path->AddressOf("x"), "s3://data/a b/ü?#/x");
    EXPECT_EQ(path->NameOf("a b/ü?#/x/y"), "x/y");
    EXPECT_EQ(path->NameOf("a b/ü?#/"), std::nullopt);
    EXPECT_EQ(path->NameOf("a b/ü?#/x/"), std::nullopt);
    EXPECT_EQ(path->NameOf("elsewhere"), std::nullopt);
    EXPECT_THAT(path->fixed_names(), IsEmpty());
  }
}

TEST(BucketPathTest, AWholeBucket) {
  for (const char* url : {"gs://data", "gs://data/"}) {
    const auto path = Parsed(url);
    EXPECT_EQ(path->prefix(), "");
    EXPECT_EQ(path->KeyOf("x"), "x");
    EXPECT_EQ(path->NarrowToObject(), std::nullopt);
  }
}

TEST(BucketPathTest, ListsNameTheObjects) {
  const auto path = Parsed("s3://data/a/s-{08..09}/x.tar");
  EXPECT_EQ(path->prefix(), "a/");
  EXPECT_THAT(path->fixed_names(), ElementsAre("s-08/x.tar", "s-09/x.tar"));
  EXPECT_EQ(path->KeyOf("s-08/x.tar"), "a/s-08/x.tar");
}

TEST(BucketPathTest, OneObject) {
  const auto path = Parsed("s3://data/a/b.tar");
  EXPECT_EQ(path->KeyOf("x"), "a/b.tar/x");
  EXPECT_EQ(path->NarrowToObject(), "b.tar");
  EXPECT_EQ(path->KeyOf("b.tar"), "a/b.tar");
  EXPECT_EQ(path->AddressOf("b.tar"), "s3://data/a/b.tar");
  EXPECT_EQ(Parsed("s3://data/b.tar")->NarrowToObject(), "b.tar");
  EXPECT_EQ(Parsed("s3://data/a/")->NarrowToObject(), std::nullopt);
}

TEST(BucketPathTest, RefusesBadNames) {
  for (const char* url :
       {"s3://", "s3:///x", "s3://a b/x", "s3://-x/", "s3:x", "s3://b/a/../c",
        "s3://b/..", "s3://b//x", "s3://b/{3..1}"}) {
    EXPECT_FALSE(BucketPath::Parse(url).ok()) << url;
  }
  const auto secret = BucketPath::Parse("s3://KEY:hunter2@bucket/x");
  EXPECT_THAT(secret.status().message(), Not(HasSubstr("hunter2")));
}

TEST(ContentRangeTest, ReadsWhatServersSend) {
  const auto range = ParseContentRange("bytes 5-9/100");
  ASSERT_TRUE(range.has_value());
  EXPECT_EQ(range->first, 5);
  EXPECT_EQ(range->last, 9);
  EXPECT_EQ(range->total, 100);
  EXPECT_EQ(ParseContentRange("bytes 0-0/*")->total, -1);
  EXPECT_EQ(ParseContentRange("bytes */0")->total, 0);
  EXPECT_EQ(ParseContentRange("bytes */0")->first, -1);
}

TEST(ContentRangeTest, RefusesTheRest) {
  for (const char* bad :
       {"", "bytes", "bytes 5-4/9", "bytes -1-4/9", "bytes 1-/9", "bytes 1-4",
        "bytes 1-4/", "bytes 1-4/-9", "bytes 1-4/99999999999999999999", "0-1/2",
        "items 0-1/2"}) {
    EXPECT_FALSE(ParseContentRange(bad).has_value()) << bad;
  }
}

TEST(HttpErrorTest, WhatMayPassIsTriedAgain) {
  for (const int status : {408, 429, 500, 502, 503, 504, 507, 599}) {
    EXPECT_TRUE(IsTransient(absl::Status(CodeOfHttpStatus(status), "")))
        << status;
  }
  for (const int status :
       {301, 304, 400, 401, 403, 404, 405, 410, 412, 416, 501, 505}) {
    EXPECT_FALSE(IsTransient(absl::Status(CodeOfHttpStatus(status), "")))
        << status;
  }
}

TEST(HttpErrorTest, OneLineWithTheRemedy) {
  EXPECT_EQ(
      HttpError(403, CodeOfHttpStatus(403), "AccessDenied", "Access Denied", "")
          .message(),
      "HTTP 403 AccessDenied: Access Denied; check the permissions");
  EXPECT_EQ(HttpError(503, CodeOfHttpStatus(503), "", "", "").message(),
            "HTTP 503");
  EXPECT_EQ(
      HttpError(404, CodeOfHttpStatus(404), "NoSuchBucket", "", "x").message(),
      "HTTP 404 NoSuchBucket; x");
}

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
  EXPECT_EQ(dialect->FactsOf(headers).version, "") << "nobody knows how long";
  headers.Add("Date", "Wed, 21 Oct 2026 07:29:00 GMT");
  const std::string dated = dialect->FactsOf(headers).version;
  EXPECT_THAT(dialect->RangeRequest("x", dated, 0, 4)->headers,
              Contains("if-unmodified-since: Wed, 21 Oct 2026 07:28:00 GMT"));
  HttpHeaders fresh;
  fresh.Add("Last-Modified", "Wed, 21 Oct 2026 07:28:00 GMT");
  fresh.Add("Date", "Wed, 21 Oct 2026 07:28:59 GMT");
  EXPECT_EQ(dialect->FactsOf(fresh).version, "") << "it may change again";
  headers.Add("ETag", "W/\"weak\"");
  EXPECT_EQ(dialect->FactsOf(headers).version, "")
      << "the server does not know";
  HttpHeaders twice;
  twice.Add("ETag", "\"a\"");
  twice.Add("ETag", "\"b\"");
  EXPECT_EQ(dialect->FactsOf(twice).version, "");
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

class GcsTokenTest : public ::testing::Test {
 protected:
  std::unique_ptr<CredentialCache> Token() {
    const auto now = [this] { return now_; };
    return std::make_unique<CredentialCache>(
        FindGoogleToken(
            StoreOptions(),
            [this](const std::string& name) {
              const auto found = variables_.find(name);
              return found == variables_.end() ? "" : found->second;
            },
            now),
        now);
  }
  std::map<std::string, std::string> variables_ = {{"NO_GCE_CHECK", "true"}};
  absl::Time now_ = absl::UnixEpoch();
};

TEST_F(GcsTokenTest, ComesFromTheEnvironment) {
  EXPECT_EQ(Token()->Get()->token, "");
  variables_["GOOGLE_OAUTH_ACCESS_TOKEN"] = "g";
  EXPECT_EQ(Token()->Get()->token, "g");
  variables_["CLOUDSDK_AUTH_ACCESS_TOKEN"] = "c";
  EXPECT_EQ(Token()->Get()->token, "c");
}

TEST_F(GcsTokenTest, AFileIsReadAgain) {
  const std::string file = ::testing::TempDir() + "token";
  variables_["CLOUDSDK_AUTH_ACCESS_TOKEN_FILE"] = file;
  std::ofstream(file) << "first\n";
  const auto token = Token();
  EXPECT_EQ(token->Get()->token, "first");
  std::ofstream(file) << "second\n";
  EXPECT_EQ(token->Get()->token, "first");
  now_ += absl::Minutes(1);
  EXPECT_EQ(token->Get()->token, "second");
}

TEST_F(GcsTokenTest, AMissingFileIsAMistake) {
  variables_["CLOUDSDK_AUTH_ACCESS_TOKEN_FILE"] = "/does/not/exist";
  EXPECT_EQ(Token()->Get().status().code(), absl::StatusCode::kInvalidArgument);
}

// Counts what it hands out; each lasts an hour.
class CredentialCacheTest : public ::testing::Test {
 protected:
  absl::StatusOr<Credential> GetAfter(absl::Duration time) {
    now_s_ += absl::ToInt64Seconds(time);
    return cache_.Get();
  }
  void WaitForLoads(int count) {
    while (loads_ < count) absl::SleepFor(absl::Milliseconds(1));
  }
  absl::StatusOr<Credential> Load() {
    const int load = loads_;
    ++loads_;
    if (!works_) return absl::UnavailableError("no");
    if (!is_found_) return Credential{"", "", "", absl::InfiniteFuture(), "m"};
    return Credential{"", "", absl::StrCat("token", load),
                      absl::UnixEpoch() + absl::Hours(load + 1), ""};
  }

  std::atomic<int> loads_{0};
  std::atomic<bool> works_{true};
  std::atomic<bool> is_found_{true};
  std::atomic<int64_t> now_s_{0};
  CredentialCache cache_{[this] { return Load(); },
                         [this] { return absl::FromUnixSeconds(now_s_); }};
};

TEST_F(CredentialCacheTest, TheNextOneComesBeforeThisOneExpires) {
  EXPECT_EQ(GetAfter(absl::ZeroDuration())->token, "token0");
  EXPECT_EQ(GetAfter(absl::Minutes(56))->token, "token0");
  EXPECT_EQ(loads_, 1);
  EXPECT_EQ(GetAfter(absl::Minutes(1))->token, "token0");  // Starts a refresh.
  WaitForLoads(2);
  EXPECT_NE(GetAfter(absl::Minutes(4))->token, "token0");
}

TEST_F(CredentialCacheTest, AFailedRefreshKeepsWhatIsValid) {
  EXPECT_EQ(GetAfter(absl::ZeroDuration())->token, "token0");
  works_ = false;
  EXPECT_EQ(GetAfter(absl::Minutes(57))->token, "token0");
  WaitForLoads(2);
  EXPECT_EQ(GetAfter(absl::Seconds(1))->token, "token0");
  EXPECT_EQ(GetAfter(absl::Minutes(3)).status().code(),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(cache_.secrets().Redact("my token0"), "my ***");
}

// Requests would go on without a signature.
TEST_F(CredentialCacheTest, NoneAfterOneThatExpiredIsAnError) {
  EXPECT_EQ(GetAfter(absl::ZeroDuration())->token, "token0");
  is_found_ = false;
  EXPECT_THAT(std::string(GetAfter(absl::Minutes(61)).status().message()),
              HasSubstr("and there is no other; tried: m"));
  is_found_ = true;
  EXPECT_EQ(GetAfter(absl::Seconds(1))->token, "token2");
}

TEST_F(CredentialCacheTest, NoneIsKept) {
  is_found_ = false;
  EXPECT_EQ(GetAfter(absl::ZeroDuration())->tried, "m");
  EXPECT_EQ(GetAfter(absl::Hours(9))->tried, "m");
  EXPECT_EQ(loads_, 1);
}

TEST(ReadJsonFieldsTest, TakesTextsAndNumbers) {
  const auto fields =
      ReadJsonFields(R"({"a": "x", "b": 7, "c": {"d": "y"}, "e": [1]})");
  ASSERT_TRUE(fields.ok()) << fields.status();
  EXPECT_THAT(*fields, ElementsAre(std::pair("a", "x"), std::pair("b", "7"),
                                   std::pair("c.d", "y")));
  for (const char* bad : {"", "[]", "{", "{\"a\": }", R"({"a": 1, "a": 2})"}) {
    EXPECT_FALSE(ReadJsonFields(bad).ok()) << bad;
  }
}

TEST(ReadAwsCredentialTest, NothingBecomesAnotherHeader) {
  CredentialFields fields = {{"AccessKeyId", "a"},
                             {"SecretAccessKey", "s"},
                             {"Token", "t/+="},
                             {"Expiration", "2026-01-02T03:04:05Z"}};
  EXPECT_EQ(ReadAwsCredential(fields, "")->token, "t/+=");
  EXPECT_EQ(absl::ToUnixSeconds(ReadAwsCredential(fields, "")->expires),
            1767323045);
  fields["Token"] = "t\r\nhost: other";
  EXPECT_FALSE(ReadAwsCredential(fields, "").ok());
  fields["Token"] = "t";
  fields["Expiration"] = "tomorrow";
  EXPECT_FALSE(ReadAwsCredential(fields, "").ok());
}

TEST(SignJwtTest, NeedsAKey) {
  const absl::Status status = SignJwt("{}", "hunter2").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "private_key is not an RSA key");
}

TEST(PrivateRequestTest, SecretsStayPrivate) {
  for (const char* url : {"https://h/a", "http://127.0.0.1:8/a"}) {
    EXPECT_TRUE(PrivateRequest(url, false).ok()) << url;
  }
  for (const char* url :
       {"http://169.254.170.2/a", "http://[fd00:ec2::254]/a"}) {
    EXPECT_TRUE(PrivateRequest(url, true).ok()) << url;
    EXPECT_FALSE(PrivateRequest(url, false).ok()) << url;
  }
  for (const char* url : {"http://h/a", "http://10.0.0.1/a", "ftp://h/a",
                          "http://169.254.1.1.example.com/"}) {
    EXPECT_FALSE(PrivateRequest(url, true).ok()) << url;
  }
}

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kPage[] = R"({"kind": "storage#objects", "nextPageToken": "n=",
  "items": [
    {"name": "p/é x", "size": "9", "generation": "1700000000000001",
     "md5Hash": "JfnnlDI7RTiF9RgfG2JNCw==", "crc32c": "4waSgw=="},
    {"name": "b", "size": 0, "generation": 7,
     "md5Hash": "JfnnlDI7RTiF9RgfG2JNCw=="}]})";

TEST(GcsListingTest, ReadsAPage) {
  const auto page = ParseGcsListing(kPage);
  ASSERT_TRUE(page.ok()) << page.status();
  ASSERT_THAT(page->objects, SizeIs(2));
  EXPECT_EQ(page->objects[0].name, "p/é x");
  EXPECT_EQ(page->objects[0].bytes, 9);
  EXPECT_EQ(page->objects[0].version, "1700000000000001");
  EXPECT_EQ(page->objects[0].checksum, "crc32c:e3069283");
  EXPECT_EQ(page->objects[1].bytes, 0);
  EXPECT_EQ(page->objects[1].version, "7");
  EXPECT_EQ(page->objects[1].checksum, "md5:25f9e794323b453885f5181f1b624d0b");
  EXPECT_EQ(page->next, "n=");
}

TEST(GcsListingTest, AnEmptyPageHasNoItems) {
  const auto page = ParseGcsListing(R"({"kind": "storage#objects"})");
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_THAT(page->objects, IsEmpty());
  EXPECT_EQ(page->next, "");
}

TEST(GcsListingTest, NothingIsLostInSilence) {
  const absl::string_view page = kPage;
  for (size_t cut = 0; cut < page.size(); ++cut) {
    EXPECT_FALSE(ParseGcsListing(page.substr(0, cut)).ok()) << cut;
  }
  for (const char* bad :
       {"[]", "null", R"({"items": {}})", R"({"items": [1]})",
        R"({"items": [{"name": "a"}]})",
        R"({"items": [{"name": "a", "size": "-1"}]})",
        R"({"items": [{"size": "1"}]})", R"({"items": [], "items": []})",
        R"({"nextPageToken": []})"}) {
    EXPECT_EQ(ParseGcsListing(bad).status().code(), absl::StatusCode::kDataLoss)
        << bad;
  }
}

TEST(GcsObjectTest, ReadsOne) {
  const auto info =
      ParseGcsObject(R"({"name": "a", "size": "3", "generation": "5"})");
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->bytes, 3);
  EXPECT_EQ(info->version + info->checksum, "5");
}

TEST(GcsErrorTest, TakesTheMessage) {
  EXPECT_EQ(ParseGcsError(R"({"error": {"code": 404, "message": "gone"}})"),
            "gone");
  EXPECT_EQ(ParseGcsError(R"({"error_description": "Invalid Value"})"),
            "Invalid Value");
  EXPECT_EQ(ParseGcsError("Not Found"), "");
  EXPECT_EQ(ParseGcsError(""), "");
}

using ::testing::AllOf;
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
  std::map<std::string, std::string> variables_ = {{"NO_GCE_CHECK", "true"}};
};

TEST_F(GcsDialectTest, AsksGoogleOrAnEmulator) {
  EXPECT_EQ(New("gs://data/p")->StatRequest("a b/é")->url,
            "https://storage.googleapis.com/storage/v1/b/data/o/"
            "p%2Fa%20b%2F%C3%A9");
  variables_["STORAGE_EMULATOR_HOST"] = "http://localhost:9023";
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

// A token is all that is needed to read, so it must not be sent in the clear.
TEST_F(GcsDialectTest, SendsTheTokenOnlyWhereNobodyElseReadsIt) {
  variables_["CLOUDSDK_AUTH_ACCESS_TOKEN"] = "hunter2";
  for (const char* endpoint :
       {"https://h", "h:443", "http://localhost:1", "http://127.9.0.1",
        "http://[::1]:1", "localhost:1"}) {
    options_.endpoint = endpoint;
    EXPECT_TRUE(New("gs://data")->StatRequest("k").ok()) << endpoint;
  }
  options_.endpoint = "h:80";
  EXPECT_THAT(New("gs://data")->StatRequest("k")->url, HasSubstr("https://h"));
  for (const char* endpoint :
       {"http://h", "http://127.0.0.1.example.com", "http://localhost.evil:1",
        "http://128.0.0.1", "http://10.0.0.1:9023"}) {
    options_.endpoint = endpoint;
    options_.anonymous = false;
    const absl::Status status = New("gs://data")->StatRequest("k").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << endpoint;
    EXPECT_THAT(std::string(status.message()), HasSubstr("https://"));
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("hunter2")));
    EXPECT_FALSE(New("gs://data")->ListRequest("").ok()) << endpoint;
    EXPECT_FALSE(New("gs://data")->RangeRequest("k", "", 0, 1).ok());
    options_.anonymous = true;
    EXPECT_TRUE(New("gs://data")->StatRequest("k").ok()) << endpoint;
  }
}

// The bytes of an upload go to the server that the user named.
TEST_F(GcsDialectTest, AnUploadStaysWithItsServer) {
  for (const auto& [endpoint, address, is_taken] :
       std::vector<std::tuple<std::string, std::string, bool>>{
           {"", "https://storage.googleapis.com/upload?upload_id=1", true},
           {"", "https://www.googleapis.com/upload?upload_id=1", true},
           {"", "http://storage.googleapis.com/upload", false},
           {"", "https://evil.example/upload", false},
           {"", "https://googleapis.com.evil/upload", false},
           {"", "https://storage.googleapis.com:8/upload", false},
           {"", "file:///etc/passwd", false},
           {"http://h:9", "http://h:9/upload?upload_id=1", true},
           {"http://h:9", "/upload?upload_id=1", true},
           {"http://h:9", "http://h:8/upload", false},
           {"http://h:9", "http://169.254.169.254/upload", false},
           {"http://h:9", "http://10.1.2.3:7/upload", true},
       }) {
    options_.endpoint = endpoint;
    options_.redirect_hosts = "10.1.2.3";
    const auto dialect = New("gs://b/set");
    HttpResponse response;
    response.headers.Add("location", address);
    const auto id = dialect->uploads()->ParseStart(response, "");
    EXPECT_EQ(id.ok(), is_taken) << endpoint << " " << address;
  }
}

TEST_F(GcsDialectTest, ErrorsSayWhatToDoWithoutTheToken) {
  HttpResponse response;
  response.status = 401;
  response.error_body =
      R"({"error": {"code": 401, "message": "Bearer hunter2 is old"}})";
  const auto error_of_request = [&] {
    const auto dialect = New("gs://b");
    EXPECT_TRUE(dialect->StatRequest("k").ok());
    return dialect->ErrorOf(response);
  };
  EXPECT_THAT(std::string(error_of_request().message()),
              AllOf(HasSubstr("gcloud auth print-access-token"),
                    HasSubstr("GOOGLE_APPLICATION_CREDENTIALS")));
  variables_["CLOUDSDK_AUTH_ACCESS_TOKEN"] = "hunter2";
  const absl::Status status = error_of_request();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(std::string(status.message()), HasSubstr("has expired"));
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("hunter2")));
}

}  // namespace
}  // namespace feedrate
