#include "lib/storage/remote/s3_dialect.h"

#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "lib/base/status_macros.h"
#include "lib/storage/http/secrets.h"
#include "lib/storage/http/url.h"
#include "lib/storage/remote/bucket_path.h"
#include "lib/storage/remote/checksum.h"
#include "lib/storage/remote/s3_error.h"
#include "lib/storage/remote/s3_listing.h"
#include "lib/storage/remote/sigv4.h"

namespace feedrate {
namespace {

constexpr char kKeysOfAPage[] = "1000";  // The most that S3 gives.

// "https://host[/path]" before the key.
std::string BaseOf(const std::string& bucket, const AwsSettings& settings) {
  // A name with dots has no certificate as a part of the host.
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

// As libcurl sends it: without the port that the scheme has anyway.
std::string HostHeader(const Url& url) {
  absl::string_view host = url.host;
  absl::ConsumeSuffix(&host, url.scheme == "https" ? ":443" : ":80");
  return std::string(host);
}

class S3Dialect : public Dialect {
 public:
  S3Dialect(std::unique_ptr<BucketPath> path, const AwsSettings& settings,
            std::function<absl::Time()> now, Url base)
      : path_(std::move(path)),
        settings_(settings),
        now_(std::move(now)),
        base_(std::move(base)),
        host_(HostHeader(base_)) {
    secrets_.Add(settings.access_key);
    secrets_.Add(settings.secret_key);
    secrets_.Add(settings.session_token);
  }

  const std::string& url() const override { return path_->url(); }
  std::string AddressOf(const std::string& name) const override {
    return path_->AddressOf(name);
  }
  const std::vector<std::string>& fixed_names() const override {
    return path_->fixed_names();
  }
  std::optional<std::string> NameOf(const std::string& key) const override {
    return path_->NameOf(key);
  }
  std::optional<std::string> NarrowToObject() override {
    return path_->NarrowToObject();
  }

  absl::StatusOr<HttpRequest> ListRequest(const std::string& page) override {
    UrlQuery query = {{"list-type", "2"},
                      {"encoding-type", "url"},
                      {"max-keys", kKeysOfAPage},
                      {"prefix", path_->prefix()}};
    if (!page.empty()) query.emplace_back("continuation-token", page);
    return Signed(false, "", query, {});
  }
  absl::StatusOr<ListPage> ParseList(const std::string& body) override {
    return ParseS3Listing(body);
  }

  absl::StatusOr<HttpRequest> StatRequest(const std::string& name) override {
    return Signed(true, path_->KeyOf(name), {},
                  {{"x-amz-checksum-mode", "ENABLED"}});
  }
  absl::StatusOr<ObjectInfo> ParseStat(const std::string& name,
                                       const HttpResponse& response,
                                       const std::string& body) override {
    ObjectInfo info;
    info.name = name;
    if (!absl::SimpleAtoi(response.headers.Get("content-length"),
                          &info.bytes)) {
      return absl::DataLossError("the server does not say the size");
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
    HttpRequest request = Signed(false, path_->KeyOf(name), {},
                                 {{"x-amz-checksum-mode", "ENABLED"}});
    request.headers.push_back(absl::StrCat("range: bytes=", first, "-", last));
    if (!version.empty()) {
      request.headers.push_back(absl::StrCat("if-match: \"", version, "\""));
    }
    return request;
  }
  ObjectFacts FactsOf(const HttpHeaders& headers) const override {
    ObjectFacts facts;
    facts.version = std::string(WithoutQuotes(headers.Get("etag")));
    facts.checksum = S3Checksum(headers);
    facts.opaque_version = IsOpaqueEtag(headers);
    return facts;
  }

  absl::Status ErrorOf(const HttpResponse& response) const override {
    return S3ErrorStatus(response, secrets_, !settings_.access_key.empty());
  }

 private:
  HttpRequest Signed(bool head_only, const std::string& key,
                     const UrlQuery& query,
                     std::map<std::string, std::string> headers) const {
    SigV4Request to_sign;
    to_sign.method = head_only ? "HEAD" : "GET";
    to_sign.path =
        absl::StrCat(base_.path, "/", PercentEncode(key, /*keep_slash=*/true));
    to_sign.query = EncodeQuery(query);
    HttpRequest request;
    request.head_only = head_only;
    request.url = absl::StrCat(base_.scheme, "://", base_.host, to_sign.path,
                               to_sign.query.empty() ? "" : "?", to_sign.query);
    if (!settings_.access_key.empty()) {
      headers["x-amz-content-sha256"] = std::string(kEmptyBodySha256);
      headers["x-amz-date"] =
          absl::FormatTime("%Y%m%dT%H%M%SZ", now_(), absl::UTCTimeZone());
      if (!settings_.session_token.empty()) {
        headers["x-amz-security-token"] = settings_.session_token;
      }
      to_sign.headers = headers;
      to_sign.headers["host"] = host_;
      request.headers.push_back(
          absl::StrCat("authorization: ",
                       SigV4Authorization(
                           to_sign, {settings_.access_key, settings_.secret_key,
                                     settings_.region, "s3"})));
    }
    for (const auto& [name, value] : headers) {
      request.headers.push_back(absl::StrCat(name, ": ", value));
    }
    return request;
  }

  const std::unique_ptr<BucketPath> path_;
  const AwsSettings settings_;
  const std::function<absl::Time()> now_;
  const Url base_;
  const std::string host_;
  Secrets secrets_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Dialect>> NewS3Dialect(
    const std::string& url, const AwsSettings& settings,
    std::function<absl::Time()> now) {
  ASSIGN_OR_RETURN(auto path, BucketPath::Parse(url));
  ASSIGN_OR_RETURN(Url base, ParseUrl(BaseOf(path->bucket(), settings)));
  return std::make_unique<S3Dialect>(std::move(path), settings, std::move(now),
                                     std::move(base));
}

}  // namespace feedrate
