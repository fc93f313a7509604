// The credentials that AWS hands out: web identities, SSO, containers,
// machines.
#include <dirent.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/storage/http/fetch.h"
#include "lib/storage/remote/credentials.h"
#include "lib/storage/remote/s3_dialect.h"

namespace feedrate {
namespace {

std::string DomainOf(const std::string& region) {
  return absl::StartsWith(region, "cn-") ? "amazonaws.com.cn" : "amazonaws.com";
}

absl::StatusOr<Credential> AskWebIdentity(const StoreOptions& options,
                                          const std::string& endpoint,
                                          const std::string& role,
                                          const std::string& session,
                                          const std::string& token_file) {
  constexpr char kPlace[] = "AWS_WEB_IDENTITY_TOKEN_FILE";
  ASSIGN_OR_RETURN(const std::string token, ReadSecretFile(kPlace, token_file));
  absl::StatusOr<HttpRequest> request = PrivateRequest(endpoint + "/", false);
  if (!request.ok()) return AtPlace(endpoint, request.status());
  request->method = "POST";
  request->headers.push_back("accept: application/xml");
  request->body = EncodeQuery({{"Action", "AssumeRoleWithWebIdentity"},
                               {"Version", "2011-06-15"},
                               {"RoleArn", role},
                               {"RoleSessionName", session},
                               {"WebIdentityToken", token}});
  const auto text = FetchText(*request, FetchOptions(options));
  if (!text.ok()) {
    return AtPlace(endpoint, text.status(),
                   "check AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE");
  }
  CredentialFields fields;
  absl::Status read =
      ReadXml(text->body, [&](absl::string_view path, const std::string& own) {
        fields[std::string(path)] = own;
      });
  absl::StatusOr<Credential> credential = ReadAwsCredential(
      fields,
      "AssumeRoleWithWebIdentityResponse/AssumeRoleWithWebIdentityResult/"
      "Credentials/");
  if (read.ok()) read = credential.status();
  if (!read.ok()) return AtPlace(endpoint, read);
  return credential;
}

// The token that `aws sso login` left for that start page.
absl::StatusOr<std::string> FindSsoToken(const std::string& folder,
                                         const std::string& start_url,
                                         absl::Time now) {
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(folder.c_str()),
                                                    &closedir);
  while (const dirent* entry = entries ? readdir(entries.get()) : nullptr) {
    if (!absl::EndsWith(entry->d_name, ".json")) continue;
    const auto text = ReadFile(absl::StrCat(folder, "/", entry->d_name));
    if (!text.ok()) continue;
    const auto fields = ReadJsonFields(*text);
    if (!fields.ok() || FieldOf(*fields, "startUrl") != start_url) continue;
    const std::string token = FieldOf(*fields, "accessToken");
    absl::Time expires;
    std::string error;
    if (!token.empty() &&
        absl::ParseTime(absl::RFC3339_full, FieldOf(*fields, "expiresAt"),
                        &expires, &error) &&
        now < expires) {
      return token;
    }
  }
  return absl::UnauthenticatedError(absl::StrCat(
      folder, ": no valid token for ", start_url, "; run `aws sso login`"));
}

absl::StatusOr<Credential> AskSso(const StoreOptions& options,
                                  const Variables& variables,
                                  const CredentialFields& profile,
                                  absl::Time now) {
  const auto setting = [&](const std::string& name) {
    const std::string shared = FieldOf(profile, "sso_session." + name);
    return shared.empty() ? FieldOf(profile, name) : shared;
  };
  ASSIGN_OR_RETURN(
      const std::string token,
      FindSsoToken(absl::StrCat(variables("HOME"), "/.aws/sso/cache"),
                   setting("sso_start_url"), now));
  const std::string region = setting("sso_region");
  std::string endpoint = variables("AWS_ENDPOINT_URL_SSO");
  if (endpoint.empty()) {
    endpoint =
        absl::StrCat("https://portal.sso.", region, ".", DomainOf(region));
  }
  absl::StatusOr<HttpRequest> request = PrivateRequest(
      absl::StrCat(
          endpoint, "/federation/credentials?",
          EncodeQuery({{"account_id", FieldOf(profile, "sso_account_id")},
                       {"role_name", FieldOf(profile, "sso_role_name")}})),
      false);
  if (!request.ok()) return AtPlace(endpoint, request.status());
  request->headers.push_back("x-amz-sso_bearer_token: " + token);
  const auto text = FetchText(*request, FetchOptions(options));
  if (!text.ok()) {
    return AtPlace(endpoint, text.status(),
                   "run `aws sso login`, and check the role of the profile");
  }
  absl::StatusOr<CredentialFields> fields = ReadJsonFields(text->body);
  if (!fields.ok()) return AtPlace(endpoint, fields.status());
  auto credential = ReadAwsCredential(*fields, "roleCredentials.");
  if (!credential.ok()) return AtPlace(endpoint, credential.status());
  return credential;
}

absl::StatusOr<Credential> AskContainer(const StoreOptions& options,
                                        const Variables& variables) {
  std::string url = variables("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  std::string place = "AWS_CONTAINER_CREDENTIALS_FULL_URI";
  const std::string path = variables("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  if (!path.empty()) {
    place = "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI";
    url = absl::StrCat("http://169.254.170.2", path);
  }
  absl::StatusOr<HttpRequest> request = PrivateRequest(url, true);
  if (!request.ok()) return AtPlace(place, request.status());
  std::string token = variables("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  const std::string file = variables("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  if (!file.empty()) {
    ASSIGN_OR_RETURN(
        token, ReadSecretFile("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", file));
  }
  if (std::any_of(token.begin(), token.end(), absl::ascii_iscntrl)) {
    return absl::InvalidArgumentError(
        "AWS_CONTAINER_AUTHORIZATION_TOKEN: it has control characters");
  }
  if (!token.empty()) request->headers.push_back("authorization: " + token);
  const auto text = FetchText(*request, FetchOptions(options));
  if (!text.ok()) return AtPlace(place, text.status());
  absl::StatusOr<CredentialFields> fields = ReadJsonFields(text->body);
  if (!fields.ok()) return AtPlace(place, fields.status());
  auto credential = ReadAwsCredential(*fields, "");
  if (!credential.ok()) return AtPlace(place, credential.status());
  return credential;
}

bool IsRoleName(absl::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(c) || absl::StrContains("+=,.@_-", c);
  });
}

// IMDSv2: a token for the session, the role's name, its keys. Without a token,
// as version 1 allows, nothing is asked.
absl::StatusOr<Credential> AskInstance(const std::string& endpoint,
                                       const HttpClientOptions& client) {
  absl::StatusOr<HttpRequest> request =
      PrivateRequest(endpoint + "/latest/api/token", true);
  if (!request.ok()) return request.status();
  request->method = "PUT";
  request->headers = {"x-aws-ec2-metadata-token-ttl-seconds: 21600"};
  ASSIGN_OR_RETURN(const FetchedText token, FetchText(*request, client));
  if (token.body.empty() ||
      !std::all_of(token.body.begin(), token.body.end(), absl::ascii_isgraph)) {
    return absl::DataLossError("the session token is not one");
  }
  request->method = "GET";
  request->headers = {"x-aws-ec2-metadata-token: " + token.body};
  const std::string roles =
      endpoint + "/latest/meta-data/iam/security-credentials/";
  request->url = roles;
  const auto listed = FetchText(*request, client);
  if (absl::IsNotFound(listed.status())) {
    return absl::NotFoundError("this machine has no role");
  }
  RETURN_IF_ERROR(listed.status());
  const std::string role(absl::StripAsciiWhitespace(
      listed->body.substr(0, listed->body.find('\n'))));
  if (!IsRoleName(role)) return absl::DataLossError("the role has no name");
  request->url = roles + PercentEncode(role);
  ASSIGN_OR_RETURN(const FetchedText text, FetchText(*request, client));
  ASSIGN_OR_RETURN(const CredentialFields fields, ReadJsonFields(text.body));
  return ReadAwsCredential(fields, "");
}

std::string WithoutLastSlash(std::string url) {
  while (absl::EndsWith(url, "/")) url.pop_back();
  return url;
}

}  // namespace

CredentialLoader FindAwsRole(const StoreOptions& options,
                             const Variables& variables,
                             const CredentialFields& profile,
                             const std::string& region,
                             std::function<absl::Time()> now) {
  // An environment's identity is complete by itself, so is a profile's.
  std::string token_file = variables("AWS_WEB_IDENTITY_TOKEN_FILE");
  std::string role = variables("AWS_ROLE_ARN");
  std::string session = variables("AWS_ROLE_SESSION_NAME");
  if (token_file.empty()) {
    token_file = FieldOf(profile, "web_identity_token_file");
    role = FieldOf(profile, "role_arn");
    session = FieldOf(profile, "role_session_name");
  }
  if (!token_file.empty() && !role.empty()) {
    std::string endpoint = WithoutLastSlash(variables("AWS_ENDPOINT_URL_STS"));
    if (endpoint.empty()) {
      endpoint = absl::StrCat("https://sts.", region, ".", DomainOf(region));
    }
    if (session.empty()) session = "feedrate";
    return [=] {
      return AskWebIdentity(options, endpoint, role, session, token_file);
    };
  }
  if (!FieldOf(profile, "sso_account_id").empty() &&
      !FieldOf(profile, "sso_role_name").empty()) {
    return [=] { return AskSso(options, variables, profile, now()); };
  }
  const std::string key = FieldOf(profile, "aws_access_key_id");
  if (!key.empty()) {
    const Credential keys{key, FieldOf(profile, "aws_secret_access_key"),
                          FieldOf(profile, "aws_session_token"),
                          absl::InfiniteFuture(), ""};
    return [keys] { return keys; };
  }
  if (!variables("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI").empty() ||
      !variables("AWS_CONTAINER_CREDENTIALS_FULL_URI").empty()) {
    return [=] { return AskContainer(options, variables); };
  }
  const std::string places =
      "AWS_ACCESS_KEY_ID, AWS_WEB_IDENTITY_TOKEN_FILE, SSO and keys of the "
      "profile, AWS_CONTAINER_CREDENTIALS_*, ";
  if (absl::EqualsIgnoreCase(variables("AWS_EC2_METADATA_DISABLED"), "true")) {
    return [places]() -> absl::StatusOr<Credential> {
      Credential none;
      none.tried = places +
                   "not the metadata server "
                   "(AWS_EC2_METADATA_DISABLED)";
      return none;
    };
  }
  std::string endpoint =
      WithoutLastSlash(variables("AWS_EC2_METADATA_SERVICE_ENDPOINT"));
  const bool is_v6 = absl::EqualsIgnoreCase(
      variables("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE"), "ipv6");
  if (endpoint.empty()) {
    endpoint = is_v6 ? "http://[fd00:ec2::254]" : "http://169.254.169.254";
  }
  const HttpClientOptions client =
      MetadataOptions(options, variables("AWS_METADATA_SERVICE_TIMEOUT"));
  return [=]() -> absl::StatusOr<Credential> {
    absl::StatusOr<Credential> found = AskInstance(endpoint, client);
    if (found.ok()) return found;
    if (absl::IsInvalidArgument(found.status())) {
      return AtPlace("AWS_EC2_METADATA_SERVICE_ENDPOINT", found.status());
    }
    Credential none;
    none.tried = places + Tried(endpoint, found.status());
    return none;
  };
}

}  // namespace feedrate
