// Two tests with the same bytes. As the headers, the names, the error text and
// the credentials of a server's response, they end, sizes and ranges stay
// within their limits, and a message shows neither control characters nor a
// secret. Read as decisions, they make a Content-Range and a URL whose parts
// are known; exactly those are read.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "lib/base/allowed_sizes.h"
#include "lib/storage/http/client.h"
#include "lib/storage/http/message.h"
#include "lib/storage/http/url.h"
#include "lib/storage/remote/credentials.h"
#include "lib/storage/remote/dialect.h"
#include "lib/storage/remote/web_dialect.h"
#include "third_party/fuzz/decisions.h"

namespace feedrate {
namespace {

Dialect& Web() {
  static Dialect& web =
      *NewWebDialect("https://host/folder/a-{0..3}.tar")->release();
  return web;
}

void ReadHeaders(absl::string_view text) {
  const auto range = ParseContentRange(text);
  if (range.has_value()) {
    CHECK_GE(range->first, -1);
    CHECK_GE(range->last, range->first);
    CHECK_GE(range->total, -1);
  }
  CHECK(std::isfinite(RetryAfterSeconds(text)));
  CHECK_GE(RetryAfterSeconds(text), 0);
  for (const char* name : {"content-range", "content-length"}) {
    HttpResponse response;
    response.status = 206;
    response.headers.Add(name, text);
    response.headers.Add("etag", text);
    const absl::StatusOr<ObjectInfo> info =
        Web().ParseStat("a-0.tar", response, "");
    if (info.ok()) CHECK(info->bytes >= 0 && info->bytes <= kMaxObjectBytes);
  }
}

// The answer of a server that hands out credentials.
void ReadCredentials(absl::string_view text) {
  const absl::StatusOr<CredentialFields> fields = ReadJsonFields(text);
  if (!fields.ok()) return;
  for (const char* prefix : {"", "roleCredentials."}) {
    const absl::StatusOr<Credential> found = ReadAwsCredential(*fields, prefix);
    if (found.ok()) {
      CHECK(!found->access_key.empty() && !found->secret_key.empty());
      CHECK(!absl::StrContains(found->access_key + found->token, '\n'));
    }
  }
}

void ReadNames(absl::string_view text) {
  if (CheckObjectName(text).ok()) {
    CHECK(!text.empty() && text.size() <= 1024 && text[0] != '/');
    const std::string inside = absl::StrCat("/", text, "/");
    CHECK(!absl::StrContains(inside, "/../"));
    CHECK(!absl::StrContains(inside, "/./"));
  }
  CHECK_EQ(PercentDecode(PercentEncode(text)), text);
  CHECK_EQ(PercentDecode(PercentEncode(text, true)), text);
  const absl::StatusOr<Url> url = ParseUrl(text);
  if (url.ok()) {
    CHECK(!url->scheme.empty() && !url->host.empty());
    CHECK(!absl::StrContains(url->host, '@'));
  }
  Secrets secrets;
  secrets.Add("hunter2!");
  secrets.Add(text.substr(0, 20));
  const std::string shown =
      secrets.Redact(absl::StrCat(text, "hunter2!", text, "hunter2%21"));
  CHECK(!absl::StrContains(shown, "hunter2!"));
  CHECK(!absl::StrContains(shown, "hunter2%21"));
  CHECK(std::none_of(shown.begin(), shown.end(), absl::ascii_iscntrl));
  CHECK_LE(shown.size(), Secrets::kMaxText + 3);
}

void ReadWhatIsKnown(Decisions* decisions) {
  const int64_t first = int64_t{decisions->Below(1000)} << decisions->Below(40);
  const int64_t last = first + decisions->Below(1000);
  const int64_t total = last + 1 + decisions->Below(1000);
  const bool is_total_known = decisions->Yes();
  const std::string whole = is_total_known ? absl::StrCat(total) : "*";
  auto range =
      ParseContentRange(absl::StrCat("bytes ", first, "-", last, "/", whole));
  CHECK(range.has_value());
  CHECK(range->first == first && range->last == last);
  CHECK_EQ(range->total, is_total_known ? total : -1);
  range = ParseContentRange(absl::StrCat("bytes */", whole));
  CHECK(range.has_value() && range->first == -1 && range->last == -1);
  CHECK(!ParseContentRange(
             absl::StrCat("bytes ", last + 1, "-", first, "/", whole))
             .has_value());

  const auto word = [&](absl::string_view more) {
    std::string text;
    for (const char c : decisions->Bytes(12)) {
      const auto i = static_cast<uint8_t>(c) % (26 + more.size());
      text += i < 26 ? static_cast<char>('a' + i) : more[i - 26];
    }
    return text;
  };
  const std::string host = absl::StrCat("h", word("-._:"));
  const std::string path = absl::StrCat("/", word("/%{},@ "));
  const std::string query = word("?=&/%@");
  const std::string text = absl::StrCat("HTTPS://", host, path, "?", query);
  const absl::StatusOr<Url> url =
      ParseUrl(absl::StrCat(text, "#", word("#?/")));
  CHECK(url.ok()) << url.status();
  CHECK_EQ(url->scheme, "https");
  CHECK_EQ(url->host, host);
  CHECK_EQ(url->path, path);
  CHECK_EQ(url->query, query);
  CHECK(!ParseUrl(absl::StrCat("https://user:", word("%"), "@", host, path))
             .ok());
}

}  // namespace
}  // namespace feedrate

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  feedrate::ReadHeaders(text);
  feedrate::ReadNames(text);
  feedrate::ReadCredentials(text);
  feedrate::Decisions decisions(data, size);
  feedrate::ReadWhatIsKnown(&decisions);
  return 0;
}
