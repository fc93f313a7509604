#include "lib/storage/remote/gcs_dialect.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/storage/http/secrets.h"
#include "lib/storage/http/url.h"
#include "lib/storage/remote/bucket_path.h"
#include "lib/storage/remote/checksum.h"
#include "lib/storage/remote/gcs_listing.h"
#include "lib/storage/remote/gcs_token.h"
#include "lib/storage/remote/http_error.h"

namespace feedrate {
namespace {

constexpr char kGoogle[] = "https://storage.googleapis.com";
// Nothing else of an object is looked at, and a page is shorter for it.
constexpr char kFields[] =
    "items(name,size,generation,crc32c,md5Hash),nextPageToken";

class GcsDialect : public Dialect {
 public:
  GcsDialect(std::unique_ptr<BucketPath> path, const std::string& endpoint,
             std::unique_ptr<GcsToken> token)
      : path_(std::move(path)),
        objects_(absl::StrCat(endpoint, "/storage/v1/b/",
                              PercentEncode(path_->bucket()), "/o")),
        token_(std::move(token)) {}

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
    UrlQuery query = {{"prefix", path_->prefix()},
                      {"maxResults", "1000"},
                      {"fields", kFields}};
    if (!page.empty()) query.emplace_back("pageToken", page);
    return Request("", query);
  }
  absl::StatusOr<ListPage> ParseList(const std::string& body) override {
    return ParseGcsListing(body);
  }

  absl::StatusOr<HttpRequest> StatRequest(const std::string& name) override {
    return Request(name, {});
  }
  absl::StatusOr<ObjectInfo> ParseStat(const std::string& name,
                                       const HttpResponse& response,
                                       const std::string& body) override {
    ASSIGN_OR_RETURN(ObjectInfo info, ParseGcsObject(body));
    info.name = name;
    return info;
  }

  absl::StatusOr<HttpRequest> RangeRequest(const std::string& name,
                                           const std::string& version,
                                           int64_t first,
                                           int64_t last) override {
    UrlQuery query = {{"alt", "media"}};
    if (!version.empty()) query.emplace_back("ifGenerationMatch", version);
    ASSIGN_OR_RETURN(HttpRequest request, Request(name, query));
    request.headers.push_back(absl::StrCat("range: bytes=", first, "-", last));
    return request;
  }
  ObjectFacts FactsOf(const HttpHeaders& headers) const override {
    ObjectFacts facts;
    facts.version = headers.Get("x-goog-generation");
    facts.checksum = GcsChecksum(headers);
    return facts;
  }

  absl::Status ErrorOf(const HttpResponse& response) const override {
    Secrets secrets;
    const absl::StatusOr<std::string> token = Token();
    if (token.ok()) secrets.Add(*token);
    const bool with_token = token.ok() && !token->empty();
    const absl::StatusCode code = CodeOfHttpStatus(response.status);
    absl::string_view remedy;
    if (code == absl::StatusCode::kUnauthenticated) {
      remedy = with_token ? "the token is not valid or has expired; get a new "
                            "one with `gcloud auth print-access-token`"
                          : "set CLOUDSDK_AUTH_ACCESS_TOKEN to the output of "
                            "`gcloud auth print-access-token`";
    } else if (code == absl::StatusCode::kNotFound) {
      remedy = "check the names of bucket and object, and the endpoint";
    }
    return HttpError(response.status, code, "",
                     secrets.Redact(ParseGcsError(response.error_body)),
                     remedy);
  }

 private:
  absl::StatusOr<std::string> Token() const {
    return token_ == nullptr ? std::string() : token_->Get();
  }

  // Of the object `name`; of the list of objects where that is empty.
  absl::StatusOr<HttpRequest> Request(const std::string& name,
                                      const UrlQuery& query) const {
    HttpRequest request;
    request.url = objects_;
    if (!name.empty()) {
      // Slashes are letters of a name here.
      absl::StrAppend(&request.url, "/", PercentEncode(path_->KeyOf(name)));
    }
    const std::string encoded = EncodeQuery(query);
    if (!encoded.empty()) absl::StrAppend(&request.url, "?", encoded);
    ASSIGN_OR_RETURN(const std::string token, Token());
    if (!token.empty()) {
      request.headers.push_back(absl::StrCat("authorization: Bearer ", token));
    }
    return request;
  }

  const std::unique_ptr<BucketPath> path_;
  const std::string objects_;
  const std::unique_ptr<GcsToken> token_;  // Null: anonymous.
};

}  // namespace

absl::StatusOr<std::unique_ptr<Dialect>> NewGcsDialect(
    const std::string& url, const StoreOptions& options,
    const std::function<std::string(const std::string&)>& variables,
    std::function<absl::Time()> now) {
  ASSIGN_OR_RETURN(auto path, BucketPath::Parse(url));
  std::string endpoint = options.endpoint;
  if (endpoint.empty()) endpoint = variables("STORAGE_EMULATOR_HOST");
  if (endpoint.empty()) endpoint = kGoogle;
  ASSIGN_OR_RETURN(endpoint,
                   ParseEndpoint(endpoint, "http", "the endpoint of GCS"));
  std::unique_ptr<GcsToken> token;
  if (!options.anonymous) {
    token = std::make_unique<GcsToken>(variables, std::move(now));
  }
  return std::make_unique<GcsDialect>(std::move(path), endpoint,
                                      std::move(token));
}

}  // namespace feedrate
