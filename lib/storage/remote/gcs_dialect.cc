#include "lib/storage/remote/gcs_dialect.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "lib/base/allowed_sizes.h"
#include "lib/base/status_macros.h"
#include "lib/json/json.h"
#include "lib/storage/checksum.h"
#include "lib/storage/http/url.h"
#include "lib/storage/remote/credentials.h"
#include "lib/storage/remote/redirect.h"

namespace feedrate {
namespace {

absl::Status Broken(absl::string_view what) {
  return absl::DataLossError(absl::StrCat("a broken answer: ", what));
}

absl::StatusOr<Json> ParseAnswer(absl::string_view body) {
  std::string why;
  std::optional<Json> json = ParseJson({body.data(), body.size()}, &why);
  if (!json.has_value()) return Broken(why);
  return *std::move(json);
}

// 64-bit numbers are sent as strings; emulators also send them as numbers.
// Empty if there is no such field, an error if it is anything else.
absl::StatusOr<std::string> Field(const Json& from, const char* name) {
  const Json* const value = MemberOf(from, name);
  if (value == nullptr) return std::string();
  if (value->is_string()) return value->get_ref<const std::string&>();
  if (value->is_number_integer()) return value->dump();
  return Broken(absl::StrCat("its ", name, " is neither text nor a number"));
}

absl::StatusOr<ObjectInfo> ObjectOf(const Json& item) {
  ObjectInfo info;
  ASSIGN_OR_RETURN(info.name, Field(item, "name"));
  if (info.name.empty()) return Broken("an object without a name");
  ASSIGN_OR_RETURN(const std::string size, Field(item, "size"));
  if (!ParseObjectBytes(size, &info.bytes)) {
    return Broken(absl::StrCat(
        "\"", absl::Utf8SafeCHexEscape(info.name.substr(0, kShownBytes)),
        "\" has no size, or one that no object has"));
  }
  ASSIGN_OR_RETURN(info.version, Field(item, "generation"));
  info.checksum = ChecksumOfBase64("crc32c", TextOf(item, "crc32c"), 4);
  if (info.checksum.empty()) {
    info.checksum = ChecksumOfBase64("md5", TextOf(item, "md5Hash"), 16);
  }
  return info;
}

}  // namespace

absl::StatusOr<ListPage> ParseGcsListing(absl::string_view body) {
  ASSIGN_OR_RETURN(const Json root, ParseAnswer(body));
  if (!root.is_object()) return Broken("it is not an object");
  ListPage page;
  ASSIGN_OR_RETURN(page.next, Field(root, "nextPageToken"));
  const Json* const items = MemberOf(root, "items");
  // An empty page has no items.
  if (items == nullptr) return page;
  if (!items->is_array()) return Broken("items");
  for (const Json& item : *items) {
    ASSIGN_OR_RETURN(ObjectInfo info, ObjectOf(item));
    page.objects.push_back(std::move(info));
  }
  return page;
}

absl::StatusOr<ObjectInfo> ParseGcsObject(absl::string_view body) {
  ASSIGN_OR_RETURN(const Json root, ParseAnswer(body));
  return ObjectOf(root);
}

std::string ParseGcsError(absl::string_view body) {
  const absl::StatusOr<Json> root = ParseAnswer(body);
  if (!root.ok()) return "";
  const Json* const error = MemberOf(*root, "error");
  // A rejected token is reported in OAuth's format.
  return error != nullptr && error->is_object()
             ? TextOf(*error, "message")
             : TextOf(*root, "error_description");
}

namespace {

constexpr char kGoogle[] = "https://storage.googleapis.com";
// Only these fields of an object are used; requesting no others makes pages
// shorter.
constexpr char kFields[] =
    "items(name,size,generation,crc32c,md5Hash),nextPageToken";

class GcsDialect : public BucketDialect, public UploadDialect {
 public:
  GcsDialect(std::unique_ptr<BucketPath> path, const std::string& endpoint,
             std::vector<std::string> hosts,
             std::unique_ptr<CredentialCache> token)
      : BucketDialect(std::move(path)),
        endpoint_(endpoint),
        hosts_(std::move(hosts)),
        place_(absl::StrCat("/storage/v1/b/",
                            PercentEncode(this->path().bucket()), "/o")),
        objects_(absl::StrCat(endpoint_, place_)),
        private_(IsPrivate(endpoint)),
        token_(std::move(token)) {}

  std::string identity() const override {
    return absl::StrCat(objects_, "\n", url());
  }

  absl::StatusOr<HttpRequest> ListRequest(const std::string& page) override {
    UrlQuery query = {{"prefix", path().prefix()},
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
    // Otherwise GCS unpacks objects that it stores with the encoding gzip, and
    // sends no ranges of them.
    request.headers.emplace_back("accept-encoding: gzip");
    return request;
  }
  ObjectFacts FactsOf(const HttpHeaders& headers) const override {
    ObjectFacts facts;
    facts.version = headers.Get("x-goog-generation");
    facts.checksum = GcsChecksum(headers);
    return facts;
  }
  // Emulators do.
  bool may_omit_version() const override {
    const absl::StatusOr<Url> url = ParseUrl(endpoint_);
    return url.ok() && IsLoopbackHost(url->host);
  }

  absl::Status ErrorOf(const HttpResponse& response) const override {
    const Secrets secrets = token_ ? token_->secrets() : Secrets();
    const std::string tried = token_ ? token_->tried() : "--anonymous";
    const absl::StatusCode code = CodeOfHttpStatus(response.status);
    std::string remedy;
    if (code == absl::StatusCode::kUnauthenticated) {
      remedy = tried.empty()
                   ? "the token is not valid or has expired; get a new "
                     "one with `gcloud auth print-access-token`"
                   : absl::StrCat(
                         "set CLOUDSDK_AUTH_ACCESS_TOKEN to the output of "
                         "`gcloud auth print-access-token`; there is no token "
                         "in: ",
                         tried);
    } else if (code == absl::StatusCode::kNotFound) {
      remedy = "check the names of bucket and object, and the endpoint";
    }
    return HttpError(response.status, code, "",
                     secrets.Redact(ParseGcsError(response.error_body)),
                     remedy);
  }

  // Uploads are sessions, which take bytes in order. A session is known only to
  // the process that started it, and the server drops it after a week.
  UploadDialect* uploads() override { return this; }
  bool in_order() const override { return true; }
  absl::StatusOr<HttpRequest> WholeRequest(const std::string& name,
                                           const UploadPart& whole) override {
    ASSIGN_OR_RETURN(HttpRequest request, UploadRequest(name, "media"));
    request.headers.push_back(HashHeader(whole));
    request.body = whole.bytes;
    return request;
  }
  absl::StatusOr<HttpRequest> StartRequest(const std::string& name) override {
    return UploadRequest(name, "resumable");
  }
  absl::StatusOr<std::string> ParseStart(const HttpResponse& response,
                                         const std::string&) override {
    const std::string& address = response.headers.Get("location");
    if (address.empty()) {
      return absl::DataLossError("the server starts no upload");
    }
    ASSIGN_OR_RETURN(const Url named, ParseUrl(endpoint_));
    return CheckUploadAddress(named, address, hosts_);
  }
  absl::StatusOr<HttpRequest> PartRequest(const std::string&,
                                          const std::string& id,
                                          const UploadPart& part) override {
    HttpRequest request;
    request.method = "PUT";
    request.url = id;  // Whoever knows it may write, so it needs no token.
    request.headers.push_back(kBodyType);
    const auto bytes = static_cast<int64_t>(part.bytes.size());
    const int64_t end = part.offset + bytes;
    request.headers.push_back(
        absl::StrCat("content-range: bytes ", part.offset, "-", end - 1, "/",
                     part.is_last ? absl::StrCat(end) : "*"));
    if (part.is_last) request.headers.push_back(HashHeader(part));
    request.body = part.bytes;
    return request;
  }
  absl::Status ParsePart(const HttpResponse& response, const std::string& body,
                         UploadPart* part) override {
    const auto bytes = static_cast<int64_t>(part->bytes.size());
    if (response.status == 308) {
      // Absent if it has nothing of the object yet.
      absl::string_view range = response.headers.Get("range");
      int64_t last = -1;
      if (absl::ConsumePrefix(&range, "bytes=0-") &&
          !absl::SimpleAtoi(range, &last)) {
        last = -1;
      }
      part->taken = std::clamp<int64_t>(last + 1 - part->offset, 0, bytes);
      return part->is_last && part->taken == bytes
                 ? absl::DataLossError("the server did not end the upload")
                 : absl::OkStatus();
    }
    part->taken = bytes;
    if (!part->is_last) {
      return absl::DataLossError("the server ended the upload too early");
    }
    ASSIGN_OR_RETURN(const ObjectInfo info, ParseGcsObject(body));
    const std::string sum = ChecksumOfCrc32c(part->whole_crc32c);
    if (info.bytes == part->offset + bytes &&
        (info.checksum == sum || !absl::StartsWith(info.checksum, "crc32c:"))) {
      return absl::OkStatus();
    }
    return absl::FailedPreconditionError(
        "the server has other bytes than were sent; write it again");
  }
  absl::StatusOr<HttpRequest> EndRequest(
      const std::string&, const std::string&,
      const std::vector<UploadPart>&) override {
    return absl::UnimplementedError("the last part ends an upload");
  }
  absl::Status ParseEnd(const std::string&) override {
    return absl::OkStatus();
  }
  absl::StatusOr<HttpRequest> FindRequest(const std::string&) override {
    return absl::UnimplementedError("uploads cannot be listed");
  }
  absl::StatusOr<std::vector<std::string>> ParseFind(
      const std::string&, const std::string&) override {
    return std::vector<std::string>();
  }
  absl::StatusOr<HttpRequest> PartsRequest(const std::string&,
                                           const std::string&) override {
    return absl::UnimplementedError("uploads cannot be listed");
  }
  absl::StatusOr<std::vector<UploadPart>> ParseParts(
      const std::string&) override {
    return std::vector<UploadPart>();
  }

 private:
  static std::string HashHeader(const UploadPart& part) {
    return absl::StrCat("x-goog-hash: crc32c=",
                        Base64OfCrc32c(part.whole_crc32c));
  }

  absl::StatusOr<HttpRequest> UploadRequest(const std::string& name,
                                            const std::string& type) const {
    HttpRequest request;
    request.method = "POST";
    request.url = absl::StrCat(
        endpoint_, "/upload", place_, "?",
        EncodeQuery({{"uploadType", type}, {"name", path().KeyOf(name)}}));
    request.headers.push_back(kBodyType);
    RETURN_IF_ERROR(AddToken(&request));
    return request;
  }

  // Whether only the server can read what is sent to it.
  static bool IsPrivate(const std::string& endpoint) {
    const absl::StatusOr<Url> url = ParseUrl(endpoint);
    return url.ok() && (url->scheme == "https" || IsLoopbackHost(url->host));
  }

  absl::StatusOr<std::string> Token() const {
    if (token_ == nullptr) return std::string();
    ASSIGN_OR_RETURN(const Credential held, token_->Get());
    return held.token;
  }

  // The URL of the object `name`, or of the list of objects if `name` is empty.
  absl::StatusOr<HttpRequest> Request(const std::string& name,
                                      const UrlQuery& query) const {
    HttpRequest request;
    request.url = objects_;
    if (!name.empty()) {
      // Slashes are ordinary characters of a name here.
      absl::StrAppend(&request.url, "/", PercentEncode(path().KeyOf(name)));
    }
    const std::string encoded = EncodeQuery(query);
    if (!encoded.empty()) absl::StrAppend(&request.url, "?", encoded);
    RETURN_IF_ERROR(AddToken(&request));
    return request;
  }

  absl::Status AddToken(HttpRequest* request) const {
    ASSIGN_OR_RETURN(const std::string token, Token());
    if (token.empty()) return absl::OkStatus();
    if (!private_) {
      return absl::InvalidArgumentError(
          "the access token would be sent over http, where everybody on the "
          "way can read it; use an https:// endpoint, or --anonymous");
    }
    request->headers.push_back(absl::StrCat("authorization: Bearer ", token));
    return absl::OkStatus();
  }

  const std::string endpoint_;
  const std::vector<std::string> hosts_;  // Allowed for uploads.
  const std::string place_;               // Of the bucket's objects.
  const std::string objects_;
  const bool private_;
  const std::unique_ptr<CredentialCache> token_;  // Null for anonymous access.
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
  ASSIGN_OR_RETURN(endpoint, ParseEndpoint(endpoint, "the endpoint of GCS"));
  std::unique_ptr<CredentialCache> token;
  if (!options.anonymous) {
    token = std::make_unique<CredentialCache>(
        FindGoogleToken(options, variables, now), now);
  }
  ASSIGN_OR_RETURN(std::vector<std::string> hosts,
                   ParseRedirectHosts(options.redirect_hosts));
  return std::make_unique<GcsDialect>(std::move(path), endpoint,
                                      std::move(hosts), std::move(token));
}

}  // namespace feedrate
