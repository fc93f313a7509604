#include "lib/storage/remote/s3_dialect.h"

#include <fstream>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/civil_time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(IniFileTest, ReadsSections) {
  const IniFile file = ParseIni(
      "# comment\n[default]\nAWS_Access_Key_ID = a=b\n region=eu-west-1  ; "
      "why\n"
      "\n[profile x y]\nendpoint_url = http://h:1/#not-a-comment\r\n");
  EXPECT_THAT(
      file,
      ElementsAre(
          Pair("default", ElementsAre(Pair("aws_access_key_id", "a=b"),
                                      Pair("region", "eu-west-1"))),
          Pair("profile x y", ElementsAre(Pair("endpoint_url",
                                               "http://h:1/#not-a-comment")))));
}

TEST(IniFileTest, ReadsIndentedSettings) {
  const IniFile file =
      ParseIni("[default]\ns3 =\n  addressing_style = path\nregion = r\n");
  EXPECT_THAT(file.at("default"),
              ElementsAre(Pair("region", "r"), Pair("s3", ""),
                          Pair("s3.addressing_style", "path")));
}

TEST(IniFileTest, PassesOverNonsense) {
  EXPECT_THAT(ParseIni(""), IsEmpty());
  EXPECT_THAT(ParseIni("key = before any section\n[\n]\n=\n"), IsEmpty());
}

using ::testing::HasSubstr;
using ::testing::Not;

class AwsSettingsTest : public ::testing::Test {
 protected:
  AwsSettingsTest() {
    variables_["AWS_CONFIG_FILE"] = ::testing::TempDir() + "aws_config";
    variables_["AWS_SHARED_CREDENTIALS_FILE"] =
        ::testing::TempDir() + "aws_credentials";
    Write("AWS_CONFIG_FILE", "");
    Write("AWS_SHARED_CREDENTIALS_FILE", "");
  }
  void Write(const std::string& variable, const std::string& text) {
    std::ofstream(variables_[variable]) << text;
  }
  absl::StatusOr<AwsSettings> Find() {
    return FindAwsSettings(options_, [this](const std::string& name) {
      const auto found = variables_.find(name);
      return found == variables_.end() ? "" : found->second;
    });
  }

  Credential Keys() { return *Find()->load(); }

  StoreOptions options_;
  std::map<std::string, std::string> variables_ = {
      {"AWS_EC2_METADATA_DISABLED", "true"}};
};

TEST_F(AwsSettingsTest, NothingSaidIsAnonymous) {
  const auto found = Find();
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(Keys().access_key, "");
  EXPECT_THAT(Keys().tried, HasSubstr("AWS_EC2_METADATA_DISABLED"));
  EXPECT_EQ(found->region, "us-east-1");
  EXPECT_EQ(found->endpoint, "");
  EXPECT_FALSE(found->path_style);
}

TEST_F(AwsSettingsTest, VariablesOutrankProfiles) {
  Write("AWS_SHARED_CREDENTIALS_FILE",
        "[default]\naws_access_key_id = FILE\naws_secret_access_key = f\n"
        "aws_session_token = old\n");
  Write("AWS_CONFIG_FILE", "[default]\nregion = eu-north-1\n");
  EXPECT_EQ(Keys().access_key, "FILE");
  EXPECT_EQ(Keys().token, "old");
  EXPECT_EQ(Find()->region, "eu-north-1");
  variables_["AWS_ACCESS_KEY_ID"] = "ENV";
  variables_["AWS_SECRET_ACCESS_KEY"] = "e";
  variables_["AWS_REGION"] = "eu-west-1";
  EXPECT_EQ(Keys().access_key, "ENV");
  EXPECT_EQ(Keys().secret_key, "e");
  // A token that belongs to other keys would break these.
  EXPECT_EQ(Keys().token, "");
  EXPECT_EQ(Find()->region, "eu-west-1");
  options_.anonymous = true;
  EXPECT_EQ(Find()->load, nullptr);
}

TEST_F(AwsSettingsTest, ReadsTheNamedProfile) {
  Write("AWS_SHARED_CREDENTIALS_FILE",
        "[default]\naws_access_key_id = D\naws_secret_access_key = d\n"
        "[lab]\naws_access_key_id = L\naws_secret_access_key = l\n");
  Write("AWS_CONFIG_FILE",
        "[profile lab]\nregion = r\nservices = mine\n"
        "s3 =\n  addressing_style = virtual\n"
        "[services mine]\ns3 =\n  endpoint_url = http://h:1\n");
  variables_["AWS_PROFILE"] = "lab";
  const auto found = Find();
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(Keys().access_key, "L");
  EXPECT_EQ(found->region, "r");
  EXPECT_EQ(found->endpoint, "http://h:1");
  EXPECT_FALSE(found->path_style);
  variables_["AWS_PROFILE"] = "missing";
  EXPECT_THAT(Find().status().message(), HasSubstr("no profile \"missing\""));
}

TEST_F(AwsSettingsTest, AnEndpointOfOnesOwnMeansPathStyle) {
  variables_["AWS_ENDPOINT_URL"] = "http://127.0.0.1:1";
  EXPECT_EQ(Find()->endpoint, "http://127.0.0.1:1");
  EXPECT_TRUE(Find()->path_style);
  variables_["AWS_ENDPOINT_URL_S3"] = "http://127.0.0.1:2";
  EXPECT_EQ(Find()->endpoint, "http://127.0.0.1:2");
  options_.endpoint = "http://127.0.0.1:3/";
  EXPECT_EQ(Find()->endpoint, "http://127.0.0.1:3");
  options_.endpoint = "ftp://x";
  EXPECT_FALSE(Find().ok());
}

TEST_F(AwsSettingsTest, HalfOfTheKeysIsAMistake) {
  variables_["AWS_SECRET_ACCESS_KEY"] = "hunter2";
  const absl::Status status = Find().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("AWS_ACCESS_KEY_ID"));
  EXPECT_THAT(status.message(), Not(HasSubstr("hunter2")));
}

using ::testing::EndsWith;
using ::testing::StartsWith;

// The examples in "Authenticating Requests: Using the Authorization Header" of
// the Amazon S3 reference.
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

using ::testing::ElementsAre;
using ::testing::Pair;

std::vector<std::pair<std::string, std::string>> Elements(
    absl::string_view document) {
  std::vector<std::pair<std::string, std::string>> seen;
  const absl::Status status =
      ReadXml(document, [&](absl::string_view path, const std::string& text) {
        seen.emplace_back(std::string(path), text);
      });
  EXPECT_TRUE(status.ok()) << status << " in " << document;
  return seen;
}

bool IsXml(absl::string_view document) {
  return ReadXml(document, [](absl::string_view, const std::string&) {}).ok();
}

TEST(XmlReaderTest, GivesElementsFromTheInsideOut) {
  EXPECT_THAT(Elements("<?xml version=\"1.0\"?>\n<!-- a > b -->"
                       "<a xmlns=\"x>y\"><b c='1'>one</b><e/><b>two</b></a>\n"),
              ElementsAre(Pair("a/b", "one"), Pair("a/e", ""),
                          Pair("a/b", "two"), Pair("a", "")));
  EXPECT_THAT(Elements("<n:a><n:b>x</n:b></n:a>"),
              ElementsAre(Pair("a/b", "x"), Pair("a", "")));
}

TEST(XmlReaderTest, ResolvesEntities) {
  EXPECT_THAT(Elements("<a>&lt;&amp;&gt;&quot;&apos;&#65;&#x42;&#xe9;&#x5199;"
                       "&#128512;<![CDATA[<raw>&amp;]]></a>"),
              ElementsAre(Pair("a", "<&>\"'ABé写😀<raw>&amp;")));
}

TEST(XmlReaderTest, RefusesWhatIsNoXml) {
  for (const char* bad :
       {"", "text", "<a>", "<a></b>", "</a>", "<a", "<a b='></a>", "<>",
        "<a/>x&", "<a>&unknown;</a>", "<a>&#0;</a>", "<a>&#xd800;</a>",
        "<a>&amp</a>", "<a/><b/>", "<!DOCTYPE x><a/>", "<a><!-- </a>",
        "<a><![CDATA[</a>", "<a></a/>"}) {
    EXPECT_FALSE(IsXml(bad)) << bad;
  }
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "<a>";
  EXPECT_FALSE(IsXml(deep));
}

using ::testing::SizeIs;

constexpr char kS3Page[] = R"(<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
  <Name>bucket</Name><Prefix>p/</Prefix><KeyCount>2</KeyCount>
  <MaxKeys>2</MaxKeys><IsTruncated>true</IsTruncated>
  <Contents><Key>p/a b+%2B%C3%A9&amp;</Key>
    <LastModified>2026-01-02T03:04:05.000Z</LastModified>
    <ETag>&quot;25f9e794323b453885f5181f1b624d0b&quot;</ETag>
    <Size>9</Size><StorageClass>STANDARD</StorageClass></Contents>
  <Contents><Key>p/b</Key><ETag>"abc-2"</ETag><Size>5368709120</Size></Contents>
  <NextContinuationToken>1/x=+&lt;</NextContinuationToken>
  <EncodingType>url</EncodingType>
</ListBucketResult>)";

TEST(S3ListingTest, ReadsAPage) {
  const auto page = ParseS3Listing(kS3Page);
  ASSERT_TRUE(page.ok()) << page.status();
  ASSERT_THAT(page->objects, SizeIs(2));
  EXPECT_EQ(page->objects[0].name, "p/a b +é&");
  EXPECT_EQ(page->objects[0].bytes, 9);
  EXPECT_EQ(page->objects[0].version, "25f9e794323b453885f5181f1b624d0b");
  EXPECT_EQ(page->objects[0].checksum, "md5:25f9e794323b453885f5181f1b624d0b");
  EXPECT_EQ(page->objects[1].bytes, 5368709120);
  EXPECT_EQ(page->objects[1].version, "abc-2");
  EXPECT_EQ(page->objects[1].checksum, "");
  EXPECT_EQ(page->next, "1/x=+<");
}

// It is sent back in a header, and is part of the key of the cache.
TEST(S3ListingTest, AVersionIsOneStrongEtag) {
  for (const auto& [etag, version] :
       {std::pair("&quot;v1&quot;", "v1"), std::pair("v1", "v1"),
        std::pair("W/&quot;v1&quot;", ""),
        std::pair("&quot;a&quot;, &quot;b&quot;", ""),
        std::pair("&quot;a&#13;&#10;x-evil: 1&quot;", ""), std::pair("a b", ""),
        std::pair("a&lt;/ETag&gt;", "")}) {
    const auto page = ParseS3Listing(absl::StrCat(
        "<ListBucketResult><Contents><Key>k</Key><Size>1</Size><ETag>", etag,
        "</ETag></Contents></ListBucketResult>"));
    ASSERT_TRUE(page.ok()) << page.status();
    EXPECT_EQ(page->objects[0].version, version) << etag;
  }
}

TEST(S3ListingTest, WithoutEncodingNamesStayAsTheyAre) {
  const auto page = ParseS3Listing(
      "<ListBucketResult><Contents><Key>a+%20</Key><Size>0</Size></Contents>"
      "<IsTruncated>false</IsTruncated></ListBucketResult>");
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->objects[0].name, "a+%20");
  EXPECT_EQ(page->next, "");
}

// An incomplete page must not pass for a shorter data set.
TEST(S3ListingTest, NothingIsLostInSilence) {
  std::string page = kS3Page;
  for (size_t cut = 0; cut < page.size(); ++cut) {
    EXPECT_FALSE(ParseS3Listing(page.substr(0, cut)).ok()) << cut;
  }
  for (const char* bad :
       {"<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
        "<ListBucketResult><Contents><Key>a</Key></Contents>"
        "</ListBucketResult>",
        "<ListBucketResult><Contents><Key>a</Key><Size>x</Size></Contents>"
        "</ListBucketResult>",
        "<ListBucketResult><Contents><Key>a</Key><Size>-1</Size></Contents>"
        "</ListBucketResult>",
        "<ListBucketResult><Contents><Size>1</Size></Contents>"
        "</ListBucketResult>",
        // Which of the two counts decides how many objects there are.
        "<ListBucketResult><IsTruncated>true</IsTruncated>"
        "<NextContinuationToken>t</NextContinuationToken>"
        "<IsTruncated>false</IsTruncated></ListBucketResult>",
        "<ListBucketResult><Contents><Key>a</Key><Size>1</Size><Size>2</Size>"
        "</Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Key>a</Key><Key>b</Key><Size>1</Size>"
        "</Contents></ListBucketResult>",
        "<Error><Code>x</Code></Error>", "<html/>", "{}"}) {
    EXPECT_EQ(ParseS3Listing(bad).status().code(), absl::StatusCode::kDataLoss)
        << bad;
  }
}

TEST(S3ErrorTest, TakesCodeAndMessageAlone) {
  const S3Error error = ParseS3Error(
      "<Error><Code>SignatureDoesNotMatch</Code><Message>wrong</Message>"
      "<AWSAccessKeyId>AKIA</AWSAccessKeyId><StringToSign>x</StringToSign>"
      "</Error>");
  EXPECT_EQ(error.code, "SignatureDoesNotMatch");
  EXPECT_EQ(error.message, "wrong");
  EXPECT_EQ(ParseS3Error("<html>502</html>").code, "");
  EXPECT_EQ(ParseS3Error("<Error><Code>SlowDown</Code><Mess").code, "SlowDown");
}

using ::testing::HasSubstr;
using ::testing::Not;

absl::Status Of(int status, const std::string& code, const std::string& message,
                const std::string& tried = "") {
  Secrets secrets;
  secrets.Add("AKIDEXAMPLE");
  secrets.Add("the/secret+key");
  HttpResponse response;
  response.status = status;
  response.headers.Add("x-amz-bucket-region", "eu-west-1");
  response.error_body = "<Error><Code>" + code + "</Code><Message>" + message +
                        "</Message><AWSAccessKeyId>AKIDEXAMPLE"
                        "</AWSAccessKeyId></Error>";
  return S3ErrorStatus(response, secrets, tried);
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
  EXPECT_THAT(
      Of(403, "AccessDenied", "", "here, there").message(),
      AllOf(HasSubstr("without credentials"), HasSubstr("here, there")));
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
  EXPECT_EQ(S3ErrorStatus(response, Secrets(), ""),
            absl::UnavailableError("HTTP 502"));
}

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class S3DialectTest : public ::testing::Test {
 protected:
  S3DialectTest() {
    settings_.load = [this] { return keys_; };
    keys_.access_key = "AKID";
    keys_.secret_key = "secret";
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
  Credential keys_;
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
  keys_.token = "token";
  const auto request = New("s3://data")->StatRequest("k");
  EXPECT_THAT(request->headers, Contains("x-amz-security-token: token"));
  EXPECT_THAT(request->headers,
              Contains(HasSubstr("SignedHeaders=host;x-amz-checksum-mode;"
                                 "x-amz-content-sha256;x-amz-date;"
                                 "x-amz-security-token,")));
}

TEST_F(S3DialectTest, WithoutKeysNothingIsSigned) {
  settings_.load = nullptr;
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

std::string ListOfParts(const std::string& parts, const std::string& rest) {
  return absl::StrCat(
      "<GetObjectAttributesResponse><ETag>v-2</ETag><ObjectParts>", parts, rest,
      "</ObjectParts></GetObjectAttributesResponse>");
}

TEST(S3PartSumsTest, PartsFollowEachOther) {
  std::vector<PartSum> sums;
  const auto next = ParseS3PartSums(
      "v-2",
      ListOfParts(
          "<Part><Size>5</Size><ChecksumCRC32C>AAAAAA==</ChecksumCRC32C>"
          "</Part><Part><Size>7</Size></Part>",
          "<IsTruncated>true</IsTruncated><NextPartNumberMarker>2"
          "</NextPartNumberMarker>"),
      &sums);
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(*next, 2);
  ASSERT_EQ(sums.size(), 2);
  EXPECT_EQ(sums[0].checksum, "crc32c:00000000");
  EXPECT_EQ(sums[1].offset, 5);
  EXPECT_EQ(sums[1].bytes, 7);
  EXPECT_EQ(sums[1].checksum, "");
  // Checksums of another version of the object are not used.
  EXPECT_EQ(*ParseS3PartSums("v-1", ListOfParts("", ""), &sums), 0);
  EXPECT_THAT(sums, IsEmpty());
}

TEST(S3PartSumsTest, NumbersThatCannotBeAreRefused) {
  std::string many;
  for (int i = 0; i <= kMaxS3Parts; ++i) {
    many += "<Part><Size>1</Size></Part>";
  }
  for (const std::string& body :
       {ListOfParts("<Part></Part>", ""),
        ListOfParts("<Part><Size>-1</Size></Part>", ""),
        ListOfParts("", "<NextPartNumberMarker>x</NextPartNumberMarker>"),
        ListOfParts("", "<NextPartNumberMarker>10001</NextPartNumberMarker>"),
        ListOfParts(many, ""), std::string("<a>")}) {
    std::vector<PartSum> sums;
    EXPECT_FALSE(ParseS3PartSums("v-2", body, &sums).ok())
        << body.substr(0, 200);
  }
}

}  // namespace
}  // namespace feedrate
