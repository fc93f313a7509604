#include "lib/storage/remote/redirect.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/base/status_macros.h"
#include "lib/storage/remote/dialect.h"

namespace feedrate {
namespace {

constexpr char kHostCharacters[] =
    "abcdefghijklmnopqrstuvwxyz0123456789.-_:[]*";

struct Host {
  std::string name;  // In lower case.
  std::string port;
};

Host HostOf(const Url& url) {
  const std::string host = absl::AsciiStrToLower(url.host);
  const size_t colon = host.rfind(':');
  // The colons of [::1] do not begin a port.
  if (colon == std::string::npos || host.find(']', colon) != host.npos) {
    return {host, url.scheme == "https" ? "443" : "80"};
  }
  return {host.substr(0, colon), host.substr(colon + 1)};
}

bool IsSame(const Host& a, const Host& b) {
  return a.name == b.name && a.port == b.port;
}

// A star in `pattern` stands for any text.
bool Matches(absl::string_view pattern, absl::string_view text) {
  const size_t star = pattern.find('*');
  if (star == pattern.npos) return pattern == text;
  if (!absl::ConsumePrefix(&text, pattern.substr(0, star))) return false;
  const absl::string_view rest = pattern.substr(star + 1);
  for (size_t i = 0; i <= text.size(); ++i) {
    if (Matches(rest, text.substr(i))) return true;
  }
  return false;
}

bool IsListed(const Host& host, const std::vector<std::string>& hosts) {
  return std::any_of(hosts.begin(), hosts.end(), [&](const std::string& one) {
    return Matches(one, host.name) ||
           Matches(one, absl::StrCat(host.name, ":", host.port));
  });
}

// "s3", "s3.eu-west-1", "s3-eu-west-1" or "s3.dualstack.eu-west-1".
bool IsAmazonService(absl::string_view name) {
  if (!absl::ConsumePrefix(&name, "s3")) return false;
  if (name.empty()) return true;
  if (name[0] != '.' && name[0] != '-') return false;
  name.remove_prefix(1);
  absl::ConsumePrefix(&name, "dualstack.");
  return !name.empty() && name.find('.') == name.npos;
}

bool IsWithin(const Host& named, const Host& to, const RedirectRules& rules) {
  if (IsSame(named, to)) return true;
  absl::string_view from_name = named.name, to_name = to.name;
  if (named.port != to.port ||
      !absl::ConsumePrefix(&from_name, rules.bucket_label) ||
      !absl::ConsumePrefix(&to_name, rules.bucket_label)) {
    return false;
  }
  if (rules.is_amazon) {
    const absl::string_view domain =
        from_name.substr(from_name.find(".amazonaws.com"));
    return absl::ConsumeSuffix(&to_name, domain) && IsAmazonService(to_name);
  }
  // Nothing is below an address of numbers.
  return absl::ascii_isalpha(from_name.back()) &&
         absl::EndsWith(to_name, absl::StrCat(".", from_name));
}

absl::StatusOr<Url> ParseAddress(const Url& current,
                                 const std::string& location) {
  const bool is_path =
      absl::StartsWith(location, "/") && !absl::StartsWith(location, "//");
  absl::StatusOr<Url> to = ParseUrl(
      is_path ? absl::StrCat(current.scheme, "://", current.host, location)
              : location);
  if (!to.ok() || (to->scheme != "http" && to->scheme != "https")) {
    return absl::FailedPreconditionError(
        "the server redirects to something that is not a web address");
  }
  if (current.scheme == "https" && to->scheme != "https") {
    return absl::FailedPreconditionError(
        "the server redirects from https to an address that is not, which is "
        "not followed; if you trust the network, name that address yourself");
  }
  return to;
}

UrlQuery DecodeQuery(absl::string_view text) {
  UrlQuery query;
  for (const absl::string_view pair :
       absl::StrSplit(text, '&', absl::SkipEmpty())) {
    const size_t equals = std::min(pair.find('='), pair.size());
    query.emplace_back(
        PercentDecode(pair.substr(0, equals)),
        PercentDecode(pair.substr(std::min(equals + 1, pair.size()))));
  }
  std::sort(query.begin(), query.end());
  return query;
}

absl::Status OtherHost(const Host& to) {
  return absl::FailedPreconditionError(absl::StrCat(
      "the server sends us on to the host \"",
      absl::Utf8SafeCHexEscape(to.name.substr(0, kShownBytes)),
      "\", which is not what you named; if it is part of the store, allow it "
      "with --redirect_hosts"));
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ParseRedirectHosts(
    absl::string_view text) {
  std::vector<std::string> hosts =
      absl::StrSplit(absl::AsciiStrToLower(text), ',', absl::SkipWhitespace());
  for (std::string& host : hosts) {
    host = std::string(absl::StripAsciiWhitespace(host));
    if (host.find_first_not_of(kHostCharacters) == host.npos) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "--redirect_hosts: \"", absl::CEscape(host),
        "\" is not a host; write it like 10.0.0.7:8081 or *.store.example"));
  }
  return hosts;
}

absl::StatusOr<RedirectTarget> FollowRedirect(const Url& named,
                                              const Url& current,
                                              const std::string& location,
                                              const RedirectRules& rules) {
  RedirectTarget target;
  ASSIGN_OR_RETURN(target.url, ParseAddress(current, location));
  const Host to = HostOf(target.url);
  const bool is_listed = IsListed(to, rules.hosts);
  target.is_new_host = !IsSame(HostOf(named), to);
  if (!is_listed && !IsWithin(HostOf(named), to, rules)) return OtherHost(to);
  const std::string path = PercentDecode(target.url.path);
  const UrlQuery asked = DecodeQuery(named.query);
  const UrlQuery query = DecodeQuery(target.url.query);
  const bool is_same_query = is_listed
                                 ? std::includes(query.begin(), query.end(),
                                                 asked.begin(), asked.end())
                                 : query == asked;
  if (path != PercentDecode(named.path) || !is_same_query) {
    return absl::FailedPreconditionError(
        "the server redirects to another object, which is not followed; check "
        "the endpoint");
  }
  target.url.path = named.path;
  target.url.query = EncodeQuery(query);
  return target;
}

absl::StatusOr<std::string> CheckUploadAddress(
    const Url& named, const std::string& address,
    const std::vector<std::string>& hosts) {
  ASSIGN_OR_RETURN(const Url url, ParseAddress(named, address));
  const Host from = HostOf(named), to = HostOf(url);
  const auto is_google = [](const Host& host) {
    return absl::EndsWith(host.name, ".googleapis.com") && host.port == "443";
  };
  if (!IsSame(from, to) && !(is_google(from) && is_google(to)) &&
      !IsListed(to, hosts)) {
    return OtherHost(to);
  }
  return absl::StrCat(url.scheme, "://", url.host, url.path,
                      url.query.empty() ? "" : "?", url.query);
}

}  // namespace feedrate
