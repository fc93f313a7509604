#include "lib/storage/remote/aws_settings.h"

#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/storage/http/url.h"
#include "lib/storage/remote/ini_file.h"

namespace feedrate {
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

// A file of ~/.aws that is not there is empty.
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

// All that both files say about the profile; the credentials file wins.
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
  return merged;
}

absl::Status FindKeys(const Variables& variables, const Section& profile,
                      AwsSettings* settings) {
  const std::string key = variables("AWS_ACCESS_KEY_ID");
  const std::string secret = variables("AWS_SECRET_ACCESS_KEY");
  // As AWS's tools have it: a profile that is asked for by name does not
  // outrank keys in the environment.
  if (!key.empty() || !secret.empty()) {
    *settings = {key, secret, variables("AWS_SESSION_TOKEN"), "", "", false};
  } else {
    *settings = {Get(profile, "aws_access_key_id"),
                 Get(profile, "aws_secret_access_key"),
                 Get(profile, "aws_session_token"),
                 "",
                 "",
                 false};
  }
  if (settings->access_key.empty() != settings->secret_key.empty()) {
    return absl::InvalidArgumentError(
        "only one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY is set; set "
        "both, or neither to read without credentials");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<AwsSettings> FindAwsSettings(const StoreOptions& options,
                                            const Variables& variables) {
  AwsSettings settings;
  ASSIGN_OR_RETURN(const Section profile, ReadProfile(variables));
  if (!options.anonymous) {
    RETURN_IF_ERROR(FindKeys(variables, profile, &settings));
  }
  settings.region =
      FirstOf({variables("AWS_REGION"), variables("AWS_DEFAULT_REGION"),
               Get(profile, "region"), "us-east-1"});
  const std::string endpoint =
      FirstOf({options.endpoint, variables("AWS_ENDPOINT_URL_S3"),
               variables("AWS_ENDPOINT_URL"), Get(profile, "endpoint_url")});
  if (!endpoint.empty()) {
    ASSIGN_OR_RETURN(settings.endpoint,
                     ParseEndpoint(endpoint, "https", "the endpoint of S3"));
  }
  // Servers of one's own seldom have a name for every bucket.
  const std::string style = Get(profile, "s3.addressing_style");
  settings.path_style =
      style == "path" || (style != "virtual" && !settings.endpoint.empty());
  return settings;
}

}  // namespace feedrate
