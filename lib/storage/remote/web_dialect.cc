#include "lib/storage/remote/web_dialect.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "lib/base/allowed_sizes.h"
#include "lib/base/status_macros.h"
#include "lib/storage/checksum.h"
#include "lib/storage/http/url.h"

namespace feedrate {
namespace {

constexpr absl::string_view kModified = "modified:";

// Keeps existing escapes; encodes spaces and Unicode.
std::string EncodeRest(absl::string_view text) {
  std::string encoded;
  for (const char c : text) {
    const bool plain = absl::ascii_isgraph(c) && c != '"' && c != '<' &&
                       c != '>' && c != '{' && c != '}' && c != '\\';
    absl::StrAppend(&encoded, plain ? std::string(1, c)
                                    : PercentEncode(absl::string_view(&c, 1)));
  }
  return encoded;
}

// A file may change twice in a second, so a time names a version only if it has
// passed for a while.
bool IsOver(const std::string& modified, const std::string& now) {
  constexpr char kFormat[] = "%a, %d %b %Y %H:%M:%S GMT";
  absl::Time then, told;
  std::string error;
  return absl::ParseTime(kFormat, modified, &then, &error) &&
         absl::ParseTime(kFormat, now, &told, &error) &&
         told - then >= absl::Minutes(1);
}

class WebDialect : public Dialect {
 public:
  WebDialect(std::string url, std::string folder, std::string query,
             std::vector<std::string> names)
      : url_(std::move(url)),
        folder_(std::move(folder)),
        query_(std::move(query)),
        names_(std::move(names)) {}

  const std::string& url() const override { return url_; }
  std::string identity() const override {
    return absl::StrCat(url_, "?", query_);
  }
  std::string AddressOf(const std::string& name) const override {
    return absl::StrCat(folder_, name);
  }
  const std::vector<std::string>& fixed_names() const override {
    return names_;
  }
  std::optional<std::string> NameOf(const std::string& key) const override {
    return std::nullopt;
  }
  std::optional<std::string> NarrowToObject() override { return std::nullopt; }
  absl::StatusOr<HttpRequest> ListRequest(const std::string& page) override {
    return absl::UnimplementedError("a web server cannot be listed");
  }
  absl::StatusOr<ListPage> ParseList(const std::string& body) override {
    return absl::UnimplementedError("a web server cannot be listed");
  }

  // A GET of the first byte, because a presigned URL is only valid for GET.
  absl::StatusOr<HttpRequest> StatRequest(const std::string& name) override {
    return RangeRequest(name, "", 0, 0);
  }
  absl::StatusOr<ObjectInfo> ParseStat(const std::string& name,
                                       const HttpResponse& response,
                                       const std::string& body) override {
    ObjectInfo info;
    info.name = name;
    info.version = FactsOf(response.headers).version;
    const auto range = ParseContentRange(response.headers.Get("content-range"));
    const std::string size = range.has_value() && range->total >= 0
                                 ? absl::StrCat(range->total)
                                 : response.headers.Get("content-length");
    if (ParseObjectBytes(size, &info.bytes)) return info;
    return absl::FailedPreconditionError(
        "the server does not say the size, or one that no object has; read it "
        "from one that does");
  }

  absl::StatusOr<HttpRequest> RangeRequest(const std::string& name,
                                           const std::string& version,
                                           int64_t first,
                                           int64_t last) override {
    HttpRequest request;
    request.url = absl::StrCat(folder_, PercentEncode(name, true),
                               query_.empty() ? "" : "?", query_);
    request.follow_redirects = true;
    request.headers.push_back(absl::StrCat("range: bytes=", first, "-", last));
    absl::string_view date = version;
    if (absl::ConsumePrefix(&date, kModified)) {
      request.headers.push_back(absl::StrCat("if-unmodified-since: ", date));
    } else if (!version.empty()) {
      request.headers.push_back(absl::StrCat("if-match: ", version));
    }
    return request;
  }
  ObjectFacts FactsOf(const HttpHeaders& headers) const override {
    ObjectFacts facts;
    const std::string& etag = headers.Get("etag");
    const std::string& modified = headers.Get("last-modified");
    if (!StrongEtag(etag).empty()) {
      facts.version = etag;
    } else if (etag.empty() && IsOver(modified, headers.Get("date"))) {
      facts.version = absl::StrCat(kModified, modified);
    }
    return facts;
  }

  absl::Status ErrorOf(const HttpResponse& response) const override {
    return HttpError(response.status, CodeOfHttpStatus(response.status), "", "",
                     "");
  }

 private:
  const std::string url_;     // Without the query.
  const std::string folder_;  // Up to and including a slash, encoded.
  const std::string query_;
  const std::vector<std::string> names_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Dialect>> NewWebDialect(const std::string& url) {
  const absl::StatusOr<Url> parts = ParseUrl(url);
  if (!parts.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a web address: ", parts.status().message()));
  }
  const std::string shown =
      absl::StrCat(parts->scheme, "://", parts->host, parts->path);
  const absl::string_view path = parts->path;
  const size_t list = FindBraceList(path);
  const size_t slash = path.substr(0, list).rfind('/');
  if (slash == absl::string_view::npos || absl::EndsWith(path, "/")) {
    return absl::InvalidArgumentError(absl::StrCat(
        shown, ": a web server cannot be listed; name the objects, as in ",
        absl::StripSuffix(shown, "/"), "/shard-{000..099}.tar"));
  }
  auto names = ExpandBraceLists(path.substr(slash + 1));
  if (!names.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(shown, ": ", names.status().message()));
  }
  for (std::string& name : *names) {
    name = PercentDecode(name);
    const absl::Status good = CheckObjectName(name);
    if (!good.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(shown, ": ", good.message()));
    }
  }
  const std::string folder = absl::StrCat(
      parts->scheme, "://", parts->host, EncodeRest(path.substr(0, slash + 1)));
  return std::make_unique<WebDialect>(shown, folder, EncodeRest(parts->query),
                                      *std::move(names));
}

}  // namespace feedrate
