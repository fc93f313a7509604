#include "lib/storage/remote/s3_dialect.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/base/allowed_sizes.h"
#include "lib/base/status_macros.h"
#include "lib/hash/sha256.h"
#include "lib/storage/checksum.h"
#include "lib/storage/remote/redirect.h"

namespace feedrate {
namespace {

struct Meaning {
  absl::string_view reason;
  absl::StatusCode code;
  absl::string_view remedy;
};

constexpr absl::string_view kRenew =
    "get new credentials and set AWS_SESSION_TOKEN and the keys";
constexpr absl::string_view kCheckKeys =
    "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY";

constexpr Meaning kMeanings[] = {
    {"NoSuchBucket", absl::StatusCode::kNotFound,
     "check the bucket's name and the endpoint"},
    {"ExpiredToken", absl::StatusCode::kUnauthenticated, kRenew},
    {"InvalidToken", absl::StatusCode::kUnauthenticated, kRenew},
    {"TokenRefreshRequired", absl::StatusCode::kUnauthenticated, kRenew},
    {"InvalidAccessKeyId", absl::StatusCode::kUnauthenticated, kCheckKeys},
    {"SignatureDoesNotMatch", absl::StatusCode::kUnauthenticated, kCheckKeys},
    {"RequestTimeTooSkewed", absl::StatusCode::kFailedPrecondition,
     "set this machine's clock"},
    {"InvalidObjectState", absl::StatusCode::kFailedPrecondition,
     "the object is archived; restore it first"},
    {"SlowDown", absl::StatusCode::kUnavailable, ""},
    {"RequestTimeout", absl::StatusCode::kDeadlineExceeded, ""},
    {"InternalError", absl::StatusCode::kUnavailable, ""},
};

bool IsWrongRegion(const HttpResponse& response, const S3Error& error) {
  return response.status == 301 || response.status == 307 ||
         error.code == "PermanentRedirect" ||
         error.code == "AuthorizationHeaderMalformed";
}

std::string RegionRemedy(const HttpResponse& response, const Secrets& secrets) {
  const std::string& region = response.headers.Get("x-amz-bucket-region");
  return region.empty()
             ? "the bucket is in another region; set AWS_REGION to its own"
             : absl::StrCat("the bucket is in another region; set AWS_REGION=",
                            secrets.Redact(region));
}

}  // namespace

absl::Status S3ErrorStatus(const HttpResponse& response, const Secrets& secrets,
                           absl::string_view tried) {
  const S3Error error = ParseS3Error(response.error_body);
  absl::StatusCode code = CodeOfHttpStatus(response.status);
  std::string remedy;
  if (IsWrongRegion(response, error)) {
    code = absl::StatusCode::kFailedPrecondition;
    remedy = RegionRemedy(response, secrets);
  } else if (code == absl::StatusCode::kPermissionDenied && !tried.empty()) {
    remedy = absl::StrCat(
        "it was asked for without credentials; set AWS_PROFILE, or "
        "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; there are none in: ",
        tried);
  }
  for (const Meaning& meaning : kMeanings) {
    if (meaning.reason != error.code) continue;
    code = meaning.code;
    remedy = std::string(meaning.remedy);
  }
  return HttpError(response.status, code, secrets.Redact(error.code),
                   secrets.Redact(error.message), remedy);
}

namespace {

constexpr char kCrc32cHeader[] = "x-amz-checksum-crc32c";
constexpr double kEndUploadS = 600;
constexpr char kKeysOfAPage[] = "1000";  // The maximum of S3.

// "https://host[/path]", without the key.
std::string BaseOf(const std::string& bucket, const AwsSettings& settings) {
  // Certificates do not cover a bucket name with dots as a part of the host.
  const bool in_path = settings.path_style || absl::StrContains(bucket, '.');
  if (!settings.endpoint.empty()) {
    if (in_path) return absl::StrCat(settings.endpoint, "/", bucket);
    const size_t host = settings.endpoint.find("://") + 3;
    return absl::StrCat(settings.endpoint.substr(0, host), bucket, ".",
                        settings.endpoint.substr(host));
  }
  const absl::string_view domain = absl::StartsWith(settings.region, "cn-")
                                       ? "amazonaws.com.cn"
                                       : "amazonaws.com";
  return in_path ? absl::StrCat("https://s3.", settings.region, ".", domain,
                                "/", bucket)
                 : absl::StrCat("https://", bucket, ".s3.", settings.region,
                                ".", domain);
}

// As libcurl sends it: without the scheme's default port.
std::string HostHeader(const Url& url) {
  absl::string_view host = url.host;
  absl::ConsumeSuffix(&host, url.scheme == "https" ? ":443" : ":80");
  return std::string(host);
}

// "bucket." where the host begins with it.
std::string BucketLabel(const std::string& bucket, const Url& base) {
  std::string label = absl::StrCat(bucket, ".");
  return absl::StartsWith(base.host, label) ? label : "";
}

class S3Dialect : public BucketDialect, public UploadDialect {
 public:
  S3Dialect(std::unique_ptr<BucketPath> path, const AwsSettings& settings,
            std::function<absl::Time()> now, Url base, RedirectRules rules)
      : BucketDialect(std::move(path)),
        region_(settings.region),
        now_(now),
        base_(std::move(base)),
        rules_(std::move(rules)),
        keys_(settings.load == nullptr ? &NoKeys : settings.load,
              std::move(now)) {}

  std::string identity() const override {
    return absl::StrCat(base_.scheme, "://", base_.host, base_.path, "\n",
                        url());
  }

  absl::StatusOr<HttpRequest> ListRequest(const std::string& page) override {
    UrlQuery query = {{"list-type", "2"},
                      {"encoding-type", "url"},
                      {"max-keys", kKeysOfAPage},
                      {"prefix", path().prefix()}};
    if (!page.empty()) query.emplace_back("continuation-token", page);
    return Request("GET", "", query, {});
  }
  absl::StatusOr<ListPage> ParseList(const std::string& body) override {
    return ParseS3Listing(body);
  }

  absl::StatusOr<HttpRequest> StatRequest(const std::string& name) override {
    return Request("HEAD", path().KeyOf(name), {},
                   {{"x-amz-checksum-mode", "ENABLED"}});
  }
  bool stat_has_checksum() const override { return true; }
  absl::StatusOr<ObjectInfo> ParseStat(const std::string& name,
                                       const HttpResponse& response,
                                       const std::string& body) override {
    ObjectInfo info;
    info.name = name;
    if (!ParseObjectBytes(response.headers.Get("content-length"),
                          &info.bytes)) {
      return absl::DataLossError(
          "the server does not say the size, or one that no object has");
    }
    const ObjectFacts facts = FactsOf(response.headers);
    info.version = facts.version;
    info.checksum = facts.checksum;
    return info;
  }

  absl::StatusOr<HttpRequest> RangeRequest(const std::string& name,
                                           const std::string& version,
                                           int64_t first,
                                           int64_t last) override {
    std::vector<std::string> unsigned_headers = {
        absl::StrCat("range: bytes=", first, "-", last)};
    if (!version.empty()) {
      unsigned_headers.push_back(absl::StrCat("if-match: \"", version, "\""));
    }
    return Request("GET", path().KeyOf(name), {},
                   {{"x-amz-checksum-mode", "ENABLED"}},
                   std::move(unsigned_headers));
  }
  ObjectFacts FactsOf(const HttpHeaders& headers) const override {
    ObjectFacts facts;
    facts.version = std::string(StrongEtag(headers.Get("etag")));
    facts.checksum = S3Checksum(headers);
    facts.opaque_version = IsOpaqueEtag(headers);
    return facts;
  }

  absl::Status ErrorOf(const HttpResponse& response) const override {
    return S3ErrorStatus(response, keys_.secrets(), keys_.tried());
  }

  // The ETag of an object of N parts ends with "-N".
  int64_t PartsOf(const std::string& version) const override {
    const size_t dash = version.rfind('-');
    int64_t parts = 0;
    return dash != std::string::npos &&
                   absl::SimpleAtoi(version.substr(dash + 1), &parts)
               ? std::max<int64_t>(0, parts)
               : 0;
  }
  absl::StatusOr<HttpRequest> PartSumsRequest(const std::string& name,
                                              int64_t last) override {
    std::map<std::string, std::string> headers = {
        {"x-amz-object-attributes", "ETag,ObjectParts"}};
    if (last > 0) headers["x-amz-part-number-marker"] = absl::StrCat(last);
    return Request("GET", path().KeyOf(name), {{"attributes", ""}}, headers);
  }
  absl::StatusOr<int64_t> ParsePartSums(const std::string& version,
                                        const std::string& body,
                                        std::vector<PartSum>* sums) override {
    return ParseS3PartSums(version, body, sums);
  }

  UploadDialect* uploads() override { return this; }
  bool in_order() const override { return false; }
  absl::StatusOr<HttpRequest> WholeRequest(const std::string& name,
                                           const UploadPart& whole) override {
    return Request("PUT", path().KeyOf(name), {},
                   {{kCrc32cHeader, Base64OfCrc32c(whole.crc32c)}}, {},
                   whole.bytes);
  }
  absl::StatusOr<HttpRequest> StartRequest(const std::string& name) override {
    return Request("POST", path().KeyOf(name), {{"uploads", ""}},
                   {{"x-amz-checksum-algorithm", "CRC32C"}});
  }
  absl::StatusOr<std::string> ParseStart(const HttpResponse&,
                                         const std::string& body) override {
    std::string id;
    const absl::Status read =
        ReadXml(body, [&](absl::string_view at, const std::string& text) {
          if (at == "InitiateMultipartUploadResult/UploadId") id = text;
        });
    if (read.ok() && !id.empty()) return id;
    return absl::DataLossError("the server starts no upload");
  }
  absl::StatusOr<HttpRequest> PartRequest(const std::string& name,
                                          const std::string& id,
                                          const UploadPart& part) override {
    return Request(
        "PUT", path().KeyOf(name),
        {{"partNumber", absl::StrCat(part.number)}, {"uploadId", id}},
        {{kCrc32cHeader, Base64OfCrc32c(part.crc32c)}}, {}, part.bytes);
  }
  absl::Status ParsePart(const HttpResponse& response, const std::string&,
                         UploadPart* part) override {
    part->tag = std::string(StrongEtag(response.headers.Get("etag")));
    if (part->tag.empty()) {
      return absl::DataLossError("the server has a part without an ETag");
    }
    part->taken = static_cast<int64_t>(part->bytes.size());
    return absl::OkStatus();
  }
  absl::StatusOr<HttpRequest> EndRequest(
      const std::string& name, const std::string& id,
      const std::vector<UploadPart>& parts) override {
    std::string body = "<CompleteMultipartUpload>";
    for (const UploadPart& part : parts) {
      absl::StrAppend(&body, "<Part><PartNumber>", part.number,
                      "</PartNumber><ETag>", part.tag,
                      "</ETag><ChecksumCRC32C>", Base64OfCrc32c(part.crc32c),
                      "</ChecksumCRC32C></Part>");
    }
    absl::StrAppend(&body, "</CompleteMultipartUpload>");
    ASSIGN_OR_RETURN(
        HttpRequest request,
        Request("POST", path().KeyOf(name), {{"uploadId", id}}, {}, {}, body));
    // S3 puts the parts together for minutes, and sends spaces meanwhile.
    request.patience_s = kEndUploadS;
    return request;
  }
  absl::Status ParseEnd(const std::string& body) override {
    // An error may come after the head that says 200.
    const S3Error error = ParseS3Error(body);
    if (!error.code.empty()) {
      return absl::UnavailableError(
          absl::StrCat(keys_.secrets().Redact(error.code), ": ",
                       keys_.secrets().Redact(error.message)));
    }
    std::string etag;
    const absl::Status read =
        ReadXml(body, [&](absl::string_view at, const std::string& text) {
          if (at == "CompleteMultipartUploadResult/ETag") etag = text;
        });
    return read.ok() && !etag.empty()
               ? absl::OkStatus()
               : absl::UnavailableError("the server did not end the upload");
  }
  absl::StatusOr<HttpRequest> FindRequest(const std::string& name) override {
    return Request("GET", "",
                   {{"uploads", ""},
                    {"encoding-type", "url"},
                    {"prefix", path().KeyOf(name)}},
                   {});
  }
  absl::StatusOr<std::vector<std::string>> ParseFind(
      const std::string& name, const std::string& body) override {
    std::vector<std::string> ids;
    std::string key, id, algorithm;
    const absl::Status read =
        ReadXml(body, [&](absl::string_view at, const std::string& text) {
          if (!absl::ConsumePrefix(&at, "ListMultipartUploadsResult/Upload")) {
            return;
          }
          if (at == "/Key") key = PercentDecode(text, /*plus_is_space=*/true);
          if (at == "/UploadId") id = text;
          if (at == "/ChecksumAlgorithm") algorithm = text;
          if (!at.empty()) return;
          // Others have parts without our sums.
          if (key == path().KeyOf(name) && algorithm == "CRC32C") {
            ids.push_back(id);
          }
          key = id = algorithm = "";
        });
    if (read.ok()) return ids;
    return absl::DataLossError(
        absl::StrCat("a broken list of uploads: ", read.message()));
  }
  absl::StatusOr<HttpRequest> PartsRequest(const std::string& name,
                                           const std::string& id) override {
    return Request("GET", path().KeyOf(name), {{"uploadId", id}}, {});
  }
  absl::StatusOr<std::vector<UploadPart>> ParseParts(
      const std::string& body) override {
    std::vector<UploadPart> parts;
    UploadPart part;
    const absl::Status read =
        ReadXml(body, [&](absl::string_view at, const std::string& text) {
          // The root has other names at other stores.
          at.remove_prefix(std::min(at.find('/'), at.size()));
          if (!absl::ConsumePrefix(&at, "/Part")) return;
          if (at == "/PartNumber" && !absl::SimpleAtoi(text, &part.number)) {
            part.number = 0;
          }
          if (at == "/ETag") part.tag = std::string(StrongEtag(text));
          if (at == "/Size") ParseObjectBytes(text, &part.taken);
          if (at.empty()) parts.push_back(std::exchange(part, UploadPart()));
        });
    if (read.ok()) return parts;
    return absl::DataLossError(
        absl::StrCat("a broken list of parts: ", read.message()));
  }

 private:
  static absl::StatusOr<Credential> NoKeys() {
    Credential none;
    none.tried = "--anonymous";
    return none;
  }

  absl::StatusOr<HttpRequest> Request(
      const std::string& method, const std::string& key, const UrlQuery& query,
      const std::map<std::string, std::string>& headers,
      std::vector<std::string> unsigned_headers = {},
      const std::string& body = "") {
    Url url = base_;
    absl::StrAppend(&url.path, "/", PercentEncode(key, /*keep_slash=*/true));
    url.query = EncodeQuery(query);
    return Signed(method, url, {url}, headers, unsigned_headers, body);
  }

  // For `target`, to which a server may have sent on the request for `named`.
  absl::StatusOr<HttpRequest> Signed(
      const std::string& method, const Url& named, const RedirectTarget& target,
      const std::map<std::string, std::string>& headers,
      const std::vector<std::string>& unsigned_headers,
      const std::string& body) {
    const Url& url = target.url;
    HttpRequest request;
    request.method = method;
    request.headers = unsigned_headers;
    request.body = body;
    // libcurl would say that it is a form.
    if (method == "PUT" || method == "POST") {
      request.headers.push_back(kBodyType);
    }
    request.url = absl::StrCat(url.scheme, "://", url.host, url.path,
                               url.query.empty() ? "" : "?", url.query);
    request.redirected =
        [this, method, named, url, headers, unsigned_headers](
            const std::string& location) -> absl::StatusOr<HttpRequest> {
      if (method != "GET" && method != "HEAD") {
        return absl::FailedPreconditionError(
            "the server redirects a write, which is not followed; name the "
            "server that takes it: set AWS_REGION or the endpoint");
      }
      ASSIGN_OR_RETURN(const RedirectTarget next,
                       FollowRedirect(named, url, location, rules_));
      return Signed(method, named, next, headers, unsigned_headers, "");
    };
    SigV4Request to_sign;
    to_sign.method = method;
    to_sign.path = url.path;
    to_sign.query = url.query;
    to_sign.headers = headers;
    ASSIGN_OR_RETURN(const Credential keys, keys_.Get());
    if (target.is_new_host && rules_.is_amazon && !keys.token.empty()) {
      return absl::FailedPreconditionError(
          "the server redirects to another host, which does not get the "
          "session token; set AWS_REGION to the region of the bucket");
    }
    if (!keys.access_key.empty()) {
      if (!body.empty()) to_sign.body_sha256 = Sha256Hex(body);
      to_sign.headers["x-amz-content-sha256"] = to_sign.body_sha256;
      to_sign.headers["x-amz-date"] =
          absl::FormatTime("%Y%m%dT%H%M%SZ", now_(), absl::UTCTimeZone());
      if (!keys.token.empty() && !target.is_new_host) {
        to_sign.headers["x-amz-security-token"] = keys.token;
      }
      to_sign.headers["host"] = HostHeader(url);
      request.headers.push_back(absl::StrCat(
          "authorization: ",
          SigV4Authorization(
              to_sign, {keys.access_key, keys.secret_key, region_, "s3"})));
      to_sign.headers.erase("host");  // libcurl sends it.
    }
    for (const auto& [name, value] : to_sign.headers) {
      request.headers.push_back(absl::StrCat(name, ": ", value));
    }
    return request;
  }

  const std::string region_;
  const std::function<absl::Time()> now_;
  const Url base_;
  const RedirectRules rules_;
  CredentialCache keys_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Dialect>> NewS3Dialect(
    const std::string& url, const AwsSettings& settings,
    std::function<absl::Time()> now) {
  ASSIGN_OR_RETURN(auto path, BucketPath::Parse(url));
  ASSIGN_OR_RETURN(Url base, ParseUrl(BaseOf(path->bucket(), settings)));
  RedirectRules rules;
  rules.is_amazon = settings.endpoint.empty();
  rules.bucket_label = BucketLabel(path->bucket(), base);
  ASSIGN_OR_RETURN(rules.hosts, ParseRedirectHosts(settings.redirect_hosts));
  return std::make_unique<S3Dialect>(std::move(path), settings, std::move(now),
                                     std::move(base), std::move(rules));
}

}  // namespace feedrate
