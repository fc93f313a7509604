#include "lib/storage/remote/aws_settings.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/hash/sha256.h"
#include "lib/hash/store_hashes.h"
#include "lib/storage/http/url.h"

namespace feedrate {
namespace {

// A comment is a whole line, or follows a space.
absl::string_view WithoutComment(absl::string_view line) {
  for (size_t i = 0; i < line.size(); ++i) {
    const bool starts = line[i] == '#' || line[i] == ';';
    if (starts && (i == 0 || absl::ascii_isspace(line[i - 1]))) {
      return line.substr(0, i);
    }
  }
  return line;
}

}  // namespace

IniFile ParseIni(absl::string_view text) {
  IniFile file;
  std::map<std::string, std::string>* section = nullptr;
  std::string above;  // The key that indented lines belong to.
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    const bool indented = !line.empty() && absl::ascii_isspace(line[0]);
    line = absl::StripAsciiWhitespace(WithoutComment(line));
    if (line.empty()) continue;
    if (line.front() == '[' && line.back() == ']') {
      const absl::string_view name =
          absl::StripAsciiWhitespace(line.substr(1, line.size() - 2));
      section = &file[std::string(name)];
      above.clear();
      continue;
    }
    const size_t equals = line.find('=');
    if (section == nullptr || equals == absl::string_view::npos) continue;
    const std::string key = absl::AsciiStrToLower(
        absl::StripAsciiWhitespace(line.substr(0, equals)));
    const absl::string_view value =
        absl::StripAsciiWhitespace(line.substr(equals + 1));
    if (indented && !above.empty()) {
      (*section)[absl::StrCat(above, ".", key)] = std::string(value);
    } else {
      (*section)[key] = std::string(value);
      above = value.empty() ? key : "";
    }
  }
  return file;
}

namespace {

using Section = std::map<std::string, std::string>;

std::string FirstOf(std::initializer_list<std::string> values) {
  for (const std::string& value : values) {
    if (!value.empty()) return value;
  }
  return "";
}

std::string Get(const Section& section, const std::string& key) {
  const auto found = section.find(key);
  return found == section.end() ? "" : found->second;
}

// A missing file in ~/.aws counts as empty.
IniFile ReadIni(const Variables& variables, const std::string& variable,
                const std::string& name) {
  std::string path = variables(variable);
  if (path.empty()) {
    const std::string home = variables("HOME");
    if (home.empty()) return {};
    path = absl::StrCat(home, "/.aws/", name);
  }
  const absl::StatusOr<std::string> text = ReadFile(path);
  return text.ok() ? ParseIni(*text) : IniFile();
}

// Everything that both files say about the profile; the credentials file wins.
absl::StatusOr<Section> ReadProfile(const Variables& variables) {
  const std::string asked =
      FirstOf({variables("AWS_PROFILE"), variables("AWS_DEFAULT_PROFILE")});
  const std::string name = FirstOf({asked, "default"});
  const IniFile config = ReadIni(variables, "AWS_CONFIG_FILE", "config");
  const IniFile credentials =
      ReadIni(variables, "AWS_SHARED_CREDENTIALS_FILE", "credentials");
  Section merged;
  bool found = false;
  for (const auto& [file, section] :
       {std::pair(&credentials, name), std::pair(&config, "profile " + name),
        std::pair(&config, name)}) {
    const auto at = file->find(section);
    if (at == file->end()) continue;
    found = true;
    merged.insert(at->second.begin(), at->second.end());
  }
  if (!found && !asked.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("AWS_PROFILE: no profile \"", asked,
                     "\" in the AWS config and credentials files; see `aws "
                     "configure list`"));
  }
  const auto services = config.find("services " + Get(merged, "services"));
  if (services != config.end()) {
    const std::string own = Get(services->second, "s3.endpoint_url");
    if (!own.empty()) merged["endpoint_url"] = own;
  }
  const auto session = config.find("sso-session " + Get(merged, "sso_session"));
  if (session != config.end()) {
    for (const auto& [key, value] : session->second) {
      merged["sso_session." + key] = value;
    }
  }
  return merged;
}

absl::StatusOr<CredentialLoader> FindKeys(const StoreOptions& options,
                                          const Variables& variables,
                                          const Section& profile,
                                          const std::string& region) {
  const Credential keys{
      variables("AWS_ACCESS_KEY_ID"), variables("AWS_SECRET_ACCESS_KEY"),
      variables("AWS_SESSION_TOKEN"), absl::InfiniteFuture(), ""};
  if (keys.access_key.empty() != keys.secret_key.empty() ||
      Get(profile, "aws_access_key_id").empty() !=
          Get(profile, "aws_secret_access_key").empty()) {
    return absl::InvalidArgumentError(
        "only one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY is set; set "
        "both, or neither to read without credentials");
  }
  // Like AWS's tools: a profile that is requested by name does not take
  // precedence over keys in the environment.
  if (!keys.access_key.empty()) return [keys] { return keys; };
  return FindAwsRole(options, variables, profile, region, &absl::Now);
}

}  // namespace

absl::StatusOr<AwsSettings> FindAwsSettings(const StoreOptions& options,
                                            const Variables& variables) {
  AwsSettings settings;
  ASSIGN_OR_RETURN(const Section profile, ReadProfile(variables));
  settings.region =
      FirstOf({variables("AWS_REGION"), variables("AWS_DEFAULT_REGION"),
               Get(profile, "region"), "us-east-1"});
  if (!options.anonymous) {
    ASSIGN_OR_RETURN(settings.load,
                     FindKeys(options, variables, profile, settings.region));
  }
  const std::string endpoint =
      FirstOf({options.endpoint, variables("AWS_ENDPOINT_URL_S3"),
               variables("AWS_ENDPOINT_URL"), Get(profile, "endpoint_url")});
  if (!endpoint.empty()) {
    ASSIGN_OR_RETURN(settings.endpoint,
                     ParseEndpoint(endpoint, "the endpoint of S3"));
  }
  // Self-hosted servers rarely have a host name for every bucket.
  const std::string style = Get(profile, "s3.addressing_style");
  settings.path_style =
      style == "path" || (style != "virtual" && !settings.endpoint.empty());
  settings.redirect_hosts = options.redirect_hosts;
  return settings;
}

namespace {

constexpr char kAlgorithm[] = "AWS4-HMAC-SHA256";

// "host;range;x-amz-date".
std::string SignedNames(const SigV4Request& request) {
  std::string names;
  for (const auto& [name, value] : request.headers) {
    absl::StrAppend(&names, names.empty() ? "" : ";", name);
  }
  return names;
}

std::string CanonicalRequest(const SigV4Request& request) {
  std::string text = absl::StrCat(request.method, "\n", request.path, "\n",
                                  request.query, "\n");
  for (const auto& [name, value] : request.headers) {
    absl::StrAppend(&text, name, ":", value, "\n");
  }
  absl::StrAppend(&text, "\n", SignedNames(request), "\n", request.body_sha256);
  return text;
}

std::string SigningKey(const SigV4Key& key, const std::string& day) {
  std::string derived = HmacSha256("AWS4" + key.secret_key, day);
  derived = HmacSha256(derived, key.region);
  derived = HmacSha256(derived, key.service);
  return HmacSha256(derived, "aws4_request");
}

}  // namespace

std::string SigV4Authorization(const SigV4Request& request,
                               const SigV4Key& key) {
  const std::string& time = request.headers.at("x-amz-date");
  const std::string day = time.substr(0, 8);
  const std::string scope =
      absl::StrCat(day, "/", key.region, "/", key.service, "/aws4_request");
  const std::string to_sign =
      absl::StrCat(kAlgorithm, "\n", time, "\n", scope, "\n",
                   Sha256Hex(CanonicalRequest(request)));
  return absl::StrCat(
      kAlgorithm, " Credential=", key.access_key, "/", scope,
      ", SignedHeaders=", SignedNames(request), ", Signature=",
      absl::BytesToHexString(HmacSha256(SigningKey(key, day), to_sign)));
}

}  // namespace feedrate
