#include "lib/url/secrets.h"

#include <algorithm>
#include <vector>

namespace feedrate {
namespace {

using Text = std::string_view;

struct Parts {
  Text scheme;   // With "://".
  Text user;     // Without "@".
  Text address;  // Host and path.
  Text query;    // Without "?".
  bool has_query = false;
};

// False when `url` is no URL.
bool Split(Text url, Parts* parts) {
  const size_t colon = url.find("://");
  if (colon == Text::npos || colon == 0) return false;
  parts->scheme = url.substr(0, colon + 3);
  url.remove_prefix(colon + 3);
  url = url.substr(0, url.find('#'));
  const size_t question = url.find('?');
  parts->has_query = question != Text::npos;
  if (parts->has_query) parts->query = url.substr(question + 1);
  url = url.substr(0, question);
  // The last "@" before the path: a password may hold one.
  const size_t at = url.substr(0, url.find('/')).rfind('@');
  if (at != Text::npos) {
    parts->user = url.substr(0, at);
    url.remove_prefix(at + 1);
  }
  parts->address = url;
  return true;
}

std::vector<Text> Parameters(Text query) {
  std::vector<Text> parameters;
  while (!query.empty()) {
    const size_t end = query.find_first_of("&;");
    parameters.push_back(query.substr(0, end));
    query = end == Text::npos ? Text() : query.substr(end + 1);
  }
  return parameters;
}

std::string LowerName(Text parameter) {
  std::string name(parameter.substr(0, parameter.find('=')));
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return name;
}

template <size_t kCount>
bool IsOneOf(const std::string& name, const Text (&names)[kCount]) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// Parameters that are secrets, or go with one: AWS and GCS (old and new
// signatures), CloudFront, Azure, Akamai, and common names of tokens.
bool IsSecret(const std::string& name) {
  static constexpr Text kNames[] = {
      "sig",    "hmac",    "hdnts",          "hdnea",          "pwd",
      "policy", "expires", "awsaccesskeyid", "googleaccessid", "key-pair-id"};
  static constexpr Text kFragments[] = {"token",      "secret",    "passw",
                                        "credential", "signature", "apikey",
                                        "api_key",    "api-key",   "auth"};
  if (name.rfind("x-amz-", 0) == 0 || name.rfind("x-goog-", 0) == 0) {
    return true;
  }
  return IsOneOf(name, kNames) ||
         std::any_of(std::begin(kFragments), std::end(kFragments),
                     [&](Text part) { return name.find(part) != Text::npos; });
}

// The rest of an Azure signature; too short to be told without its "sig".
bool GoesWithSig(const std::string& name) {
  static constexpr Text kNames[] = {"se",  "skoid", "sks", "skt", "sktid",
                                    "ske", "skv",   "sip", "sp",  "spr",
                                    "sr",  "srt",   "ss",  "st",  "sv"};
  return IsOneOf(name, kNames);
}

void Replace(Text secret, Text by, std::string* text) {
  // A shorter text occurs everywhere.
  constexpr size_t kShortest = 4;
  if (secret.size() < kShortest) return;
  for (size_t at = text->find(secret); at != std::string::npos;
       at = text->find(secret, at + by.size())) {
    text->replace(at, secret.size(), by);
  }
}

}  // namespace

bool HasUrlSecrets(Text text) {
  Parts parts;
  if (!Split(text, &parts)) return false;
  if (!parts.user.empty()) return true;
  const std::vector<Text> parameters = Parameters(parts.query);
  return std::any_of(parameters.begin(), parameters.end(), [](Text parameter) {
    return IsSecret(LowerName(parameter));
  });
}

std::string ShownUrl(Text text) {
  Parts parts;
  if (!Split(text, &parts)) return std::string(text);
  std::string shown(parts.scheme);
  shown.append(parts.address);
  char before = '?';
  for (const Text parameter : Parameters(parts.query)) {
    const size_t equals = parameter.find('=');
    shown += before;
    // Without a name, all of it is a value.
    if (equals != Text::npos) shown.append(parameter.substr(0, equals + 1));
    shown.append(kHidden);
    before = '&';
  }
  if (text.find('#') != Text::npos) shown.append("#").append(kHidden);
  return shown;
}

std::string ObjectUrl(Text url) {
  Parts parts;
  if (!Split(url, &parts)) return std::string(url);
  const std::vector<Text> parameters = Parameters(parts.query);
  const bool azure =
      std::any_of(parameters.begin(), parameters.end(),
                  [](Text parameter) { return LowerName(parameter) == "sig"; });
  std::string object(parts.scheme);
  object.append(parts.address);
  char before = '?';
  for (const Text parameter : parameters) {
    const std::string name = LowerName(parameter);
    if (IsSecret(name) || (azure && GoesWithSig(name))) continue;
    object += before;
    object.append(parameter);
    before = '&';
  }
  return object;
}

std::string HideUrl(Text text, Text url) {
  std::string hidden(text);
  Parts parts;
  if (!Split(url, &parts)) return hidden;
  Replace(url, ShownUrl(url), &hidden);
  Replace(parts.query, kHidden, &hidden);
  Replace(parts.user, kHidden, &hidden);
  const size_t colon = parts.user.find(':');
  if (colon != Text::npos) {
    Replace(parts.user.substr(colon + 1), kHidden, &hidden);
  }
  for (const Text parameter : Parameters(parts.query)) {
    if (!IsSecret(LowerName(parameter))) continue;
    Replace(parameter.substr(parameter.find('=') + 1), kHidden, &hidden);
  }
  return hidden;
}

}  // namespace feedrate
