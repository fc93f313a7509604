#include "lib/storage/http/url.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace feedrate {
namespace {

constexpr char kHexDigits[] = "0123456789ABCDEF";

bool IsPlain(char c) {
  return absl::ascii_isalnum(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = absl::ascii_tolower(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool IsEscape(absl::string_view text) {
  return text.size() >= 3 && text[0] == '%' && HexValue(text[1]) >= 0 &&
         HexValue(text[2]) >= 0;
}

bool HasControls(absl::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return absl::ascii_iscntrl(c); });
}

bool IsHost(absl::string_view host) {
  return !host.empty() && std::all_of(host.begin(), host.end(), [](char c) {
    return IsPlain(c) || c == ':' || c == '[' || c == ']';
  });
}

}  // namespace

std::string PercentEncode(absl::string_view text, bool keep_slash) {
  std::string encoded;
  for (const char c : text) {
    if (IsPlain(c) || (keep_slash && c == '/')) {
      encoded += c;
    } else {
      const auto byte = static_cast<uint8_t>(c);
      encoded += '%';
      encoded += kHexDigits[byte >> 4];
      encoded += kHexDigits[byte & 15];
    }
  }
  return encoded;
}

std::string PercentDecode(absl::string_view text, bool plus_is_space) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (IsEscape(text.substr(i))) {
      decoded +=
          static_cast<char>(HexValue(text[i + 1]) * 16 + HexValue(text[i + 2]));
      i += 2;
    } else {
      decoded += plus_is_space && text[i] == '+' ? ' ' : text[i];
    }
  }
  return decoded;
}

std::string EncodeQuery(UrlQuery query) {
  for (auto& [name, value] : query) {
    name = PercentEncode(name);
    value = PercentEncode(value);
  }
  std::sort(query.begin(), query.end());
  std::string text;
  for (const auto& [name, value] : query) {
    absl::StrAppend(&text, text.empty() ? "" : "&", name, "=", value);
  }
  return text;
}

absl::StatusOr<Url> ParseUrl(absl::string_view text) {
  const size_t colon = text.find("://");
  if (colon == absl::string_view::npos || colon == 0) {
    return absl::InvalidArgumentError("an address begins with scheme://");
  }
  if (HasControls(text)) {
    return absl::InvalidArgumentError("the address holds control characters");
  }
  Url url;
  url.scheme = absl::AsciiStrToLower(text.substr(0, colon));
  text.remove_prefix(colon + 3);
  const size_t host_end = std::min(text.find_first_of("/?#"), text.size());
  const absl::string_view host = text.substr(0, host_end);
  if (absl::StrContains(host, '@')) {
    return absl::InvalidArgumentError(
        "the address holds a user or a password, which would end up in logs; "
        "leave them out");
  }
  if (!IsHost(host)) {
    return absl::InvalidArgumentError(
        "the address needs a name after :// of letters, digits, '-', '.' and "
        "'_'");
  }
  url.host = std::string(host);
  text.remove_prefix(host_end);
  text = text.substr(0, std::min(text.find('#'), text.size()));
  const size_t path_end = std::min(text.find('?'), text.size());
  url.path = std::string(text.substr(0, path_end));
  if (path_end < text.size()) {
    url.query = std::string(text.substr(path_end + 1));
  }
  return url;
}

absl::StatusOr<std::string> ParseEndpoint(absl::string_view text,
                                          absl::string_view what) {
  std::string whole(text);
  if (!absl::StrContains(text, "://")) {
    const bool is_local = IsLoopbackHost(text.substr(0, text.find('/')));
    whole = absl::StrCat(is_local ? "http://" : "https://", text);
  }
  const absl::StatusOr<Url> url = ParseUrl(whole);
  if (!url.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": ", url.status().message()));
  }
  if (url->scheme != "http" && url->scheme != "https") {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": must begin with http:// or https://"));
  }
  absl::string_view path = url->path;
  while (absl::EndsWith(path, "/")) path.remove_suffix(1);
  return absl::StrCat(url->scheme, "://", url->host, path);
}

namespace {

std::string WithoutPort(absl::string_view host) {
  const size_t colon = host.rfind(':');
  if (colon != host.npos && host.find(']', colon) == host.npos) {
    host = host.substr(0, colon);
  }
  return absl::AsciiStrToLower(host);
}

// Returns the bits of an IPv4 address, or 0 for any other text.
uint32_t AddressOfHost(const std::string& name) {
  in_addr address;
  return inet_pton(AF_INET, name.c_str(), &address) == 1 ? ntohl(address.s_addr)
                                                         : 0;
}

}  // namespace

bool IsLoopbackHost(absl::string_view host) {
  const std::string name = WithoutPort(host);
  return name == "localhost" || name == "[::1]" ||
         AddressOfHost(name) >> 24 == IN_LOOPBACKNET;
}

bool IsLinkLocalHost(absl::string_view host) {
  const std::string name = WithoutPort(host);
  return name == "[fd00:ec2::254]" || name == "[fd00:ec2::23]" ||
         AddressOfHost(name) >> 16 == (169 << 8 | 254);
}

namespace {

constexpr size_t kShortest = 4;
// Length of a SHA-256 signature in hexadecimal.
constexpr size_t kSignature = 64;

std::string WithoutSignatures(absl::string_view text) {
  std::string safe;
  while (!text.empty()) {
    const size_t run =
        std::find_if_not(text.begin(), text.end(), absl::ascii_isxdigit) -
        text.begin();
    absl::StrAppend(&safe, run >= kSignature ? "***" : text.substr(0, run));
    text.remove_prefix(run);
    absl::StrAppend(&safe, text.substr(0, 1));
    text.remove_prefix(std::min<size_t>(1, text.size()));
  }
  return safe;
}

}  // namespace

void Secrets::Add(absl::string_view secret) {
  if (secret.size() < kShortest) return;
  secrets_.emplace_back(secret);
  std::string encoded = PercentEncode(secret);
  if (encoded != secret) secrets_.push_back(std::move(encoded));
  // Longest first: a secret may contain another one, whose replacement would
  // leave the rest readable.
  std::sort(secrets_.begin(), secrets_.end(),
            [](const std::string& a, const std::string& b) {
              return a.size() > b.size();
            });
}

std::string Secrets::Redact(absl::string_view text) const {
  std::string safe(text);
  for (const std::string& secret : secrets_) {
    safe = absl::StrReplaceAll(safe, {{secret, "***"}});
  }
  safe = WithoutSignatures(safe);
  for (char& c : safe) {
    if (absl::ascii_iscntrl(c)) c = ' ';
  }
  if (safe.size() > kMaxText) {
    safe.resize(kMaxText);
    absl::StrAppend(&safe, "…");
  }
  return safe;
}

}  // namespace feedrate
