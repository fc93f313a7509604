#include "lib/storage/remote/credentials.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/json/json.h"
#include "lib/storage/http/fetch.h"

namespace feedrate {
namespace {

// The clouds hand out the next credential five minutes before this one expires.
constexpr absl::Duration kRefreshBefore = absl::Seconds(225);

}  // namespace

CredentialCache::CredentialCache(CredentialLoader load,
                                 std::function<absl::Time()> now)
    : load_(std::move(load)), now_(std::move(now)) {}

absl::StatusOr<Credential> CredentialCache::Get() {
  const std::lock_guard<std::mutex> loading(loading_);
  const absl::Time now = now_();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (loaded_at_ != absl::InfinitePast() && now < held_.expires) {
      if (IsRefreshDue(now)) {
        is_refreshing_ = true;
        tried_at_ = now;
        refresher_.Post([this] {
          const absl::StatusOr<Credential> next = load_();
          if (next.ok() && next->tried.empty()) Keep(*next);
          const std::lock_guard<std::mutex> done(mutex_);
          is_refreshing_ = false;
        });
      }
      return held_;
    }
  }
  ASSIGN_OR_RETURN(const Credential next, load_());
  if (!next.tried.empty()) {
    // A store may answer an unsigned request with something else.
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!held_.access_key.empty() || !held_.token.empty()) {
      return absl::UnavailableError(absl::StrCat(
          "the credential expired at ", absl::FormatTime(held_.expires),
          ", and there is no other; tried: ", next.tried));
    }
  }
  Keep(next);
  return next;
}

Secrets CredentialCache::secrets() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return secrets_;
}

std::string CredentialCache::tried() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return held_.tried;
}

void CredentialCache::Keep(const Credential& credential) {
  const std::lock_guard<std::mutex> lock(mutex_);
  held_ = credential;
  loaded_at_ = tried_at_ = now_();
  secrets_.Add(credential.access_key);
  secrets_.Add(credential.secret_key);
  secrets_.Add(credential.token);
}

bool CredentialCache::IsRefreshDue(absl::Time now) const {
  const absl::Duration before =
      std::min(kRefreshBefore, (held_.expires - loaded_at_) / 2);
  return !is_refreshing_ && now >= held_.expires - before &&
         now >= tried_at_ + kTryAgainAfter;
}

namespace {

void AddJsonFields(const Json& object, const std::string& prefix,
                   CredentialFields* fields) {
  for (const auto& [key, value] : object.items()) {
    const std::string name = prefix + key;
    if (value.is_string()) {
      (*fields)[name] = value.get_ref<const std::string&>();
    } else if (value.is_number_integer()) {
      (*fields)[name] = value.dump();
    } else if (prefix.empty() && value.is_object()) {
      AddJsonFields(value, name + ".", fields);
    }
  }
}

}  // namespace

absl::StatusOr<CredentialFields> ReadJsonFields(absl::string_view text) {
  std::string why;
  const std::optional<Json> root = ParseJson({text.data(), text.size()}, &why);
  if (!root.has_value() || !root->is_object()) {
    // Nothing of it is shown: it may hold secrets.
    return absl::DataLossError(
        "this is not a JSON object, or one that says something twice");
  }
  CredentialFields fields;
  AddJsonFields(*root, "", &fields);
  return fields;
}

absl::StatusOr<Credential> ReadAwsCredential(const CredentialFields& fields,
                                             absl::string_view prefix) {
  Credential credential;
  std::string expiration;
  for (const auto& [name, value] : fields) {
    if (!absl::StartsWith(name, prefix)) continue;
    const std::string key = absl::AsciiStrToLower(name.substr(prefix.size()));
    if (key == "accesskeyid") credential.access_key = value;
    if (key == "secretaccesskey") credential.secret_key = value;
    if (key == "token" || key == "sessiontoken") credential.token = value;
    if (key == "expiration") expiration = value;
  }
  if (credential.access_key.empty() || credential.secret_key.empty()) {
    return absl::DataLossError("the answer has no keys");
  }
  // They become headers.
  for (const std::string& text : {credential.access_key, credential.token}) {
    if (!std::all_of(text.begin(), text.end(), absl::ascii_isgraph)) {
      return absl::DataLossError("the keys have characters that no key has");
    }
  }
  int64_t milliseconds = 0;
  std::string error;
  if (absl::SimpleAtoi(expiration, &milliseconds)) {
    credential.expires = absl::FromUnixMillis(milliseconds);
  } else if (!expiration.empty() &&
             !absl::ParseTime(absl::RFC3339_full, expiration,
                              &credential.expires, &error)) {
    return absl::DataLossError("the answer has no valid time of expiry");
  }
  return credential;
}

std::string FieldOf(const CredentialFields& fields, const std::string& name) {
  const auto found = fields.find(name);
  return found == fields.end() ? "" : found->second;
}

absl::Status AtPlace(absl::string_view place, const absl::Status& status,
                     absl::string_view remedy) {
  // A source that was asked for by name, so trying again does not help.
  return absl::Status(IsTransient(status)
                          ? absl::StatusCode::kFailedPrecondition
                          : status.code(),
                      absl::StrCat(place, ": ", status.message(),
                                   remedy.empty() ? "" : "; ", remedy));
}

HttpClientOptions FetchOptions(const StoreOptions& options) {
  HttpClientOptions client;
  client.connections = 1;
  client.timeout_s = options.timeout_s;
  client.retry.retries = std::max(0, options.retries);
  client.ca_file = options.ca_file;
  return client;
}

HttpClientOptions MetadataOptions(const StoreOptions& options,
                                  const std::string& timeout) {
  HttpClientOptions client = FetchOptions(options);
  client.retry.retries = 0;
  if (!absl::SimpleAtod(timeout, &client.timeout_s) ||
      !(client.timeout_s > 0 && client.timeout_s <= 3600)) {
    client.timeout_s = 1;
  }
  return client;
}

absl::StatusOr<HttpRequest> PrivateRequest(const std::string& url,
                                           bool is_metadata) {
  ASSIGN_OR_RETURN(const Url parts, ParseUrl(url));
  const bool is_near = IsLoopbackHost(parts.host) ||
                       (is_metadata && IsLinkLocalHost(parts.host));
  if (parts.scheme != "https" && !(parts.scheme == "http" && is_near)) {
    return absl::InvalidArgumentError(
        "credentials would be sent over http, where everybody on the way can "
        "read them; use an https:// address");
  }
  HttpRequest request;
  request.url = url;
  request.no_proxy = is_near;
  return request;
}

absl::StatusOr<std::string> ReadSecretFile(const std::string& place,
                                           const std::string& path) {
  const absl::StatusOr<std::string> text = ReadFile(path);
  if (text.ok()) return std::string(absl::StripAsciiWhitespace(*text));
  return absl::InvalidArgumentError(
      absl::StrCat(place, ": ", path, " cannot be read"));
}

std::string Tried(absl::string_view place, const absl::Status& status) {
  return absl::StrCat(place, " (", status.message(), ")");
}

}  // namespace feedrate
