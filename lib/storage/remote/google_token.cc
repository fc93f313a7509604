// Access tokens of Google: from the environment, key files, the metadata
// server.
#include <dlfcn.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/json/json.h"
#include "lib/storage/http/fetch.h"
#include "lib/storage/remote/credentials.h"

namespace feedrate {
namespace {

// OpenSSL, as libcurl has loaded it. Its headers are not needed to build, and
// it is not linked a second time.
void* CryptoFunction(const char* name) {
  void* found = dlsym(RTLD_DEFAULT, name);
  if (found != nullptr) return found;
  static void* const library = [] {
    void* loaded = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);
    return loaded != nullptr
               ? loaded
               : dlopen("libcrypto.so.1.1", RTLD_NOW | RTLD_LOCAL);
  }();
  return library == nullptr ? nullptr : dlsym(library, name);
}

template <typename F>
bool FindCrypto(const char* name, F** function) {
  *function = reinterpret_cast<F*>(CryptoFunction(name));
  return *function != nullptr;
}

// The signature of RS256: PKCS #1 v1.5 with SHA-256.
absl::StatusOr<std::string> RsaSha256(const std::string& text,
                                      const std::string& pem) {
  void* (*read_bio)(const void*, int) = nullptr;
  void* (*read_key)(void*, void**, void*, void*) = nullptr;
  void* (*new_context)() = nullptr;
  const void* (*sha256)() = nullptr;
  int (*begin)(void*, void**, const void*, void*, void*) = nullptr;
  int (*sign)(void*, unsigned char*, size_t*, const unsigned char*, size_t) =
      nullptr;
  int (*key_size)(const void*) = nullptr;
  int (*free_bio)(void*) = nullptr;
  void (*free_key)(void*) = nullptr;
  void (*free_context)(void*) = nullptr;
  void (*clear_errors)() = nullptr;
  if (!FindCrypto("BIO_new_mem_buf", &read_bio) ||
      !FindCrypto("PEM_read_bio_PrivateKey", &read_key) ||
      !FindCrypto("EVP_MD_CTX_new", &new_context) ||
      !FindCrypto("EVP_sha256", &sha256) ||
      !FindCrypto("EVP_DigestSignInit", &begin) ||
      !FindCrypto("EVP_DigestSign", &sign) ||
      !(FindCrypto("EVP_PKEY_get_size", &key_size) ||
        FindCrypto("EVP_PKEY_size", &key_size)) ||
      !FindCrypto("BIO_free", &free_bio) ||
      !FindCrypto("EVP_PKEY_free", &free_key) ||
      !FindCrypto("EVP_MD_CTX_free", &free_context) ||
      !FindCrypto("ERR_clear_error", &clear_errors)) {
    return absl::FailedPreconditionError(
        "OpenSSL is not there; install libssl3");
  }
  // An empty password, so that an encrypted key does not ask the terminal.
  char no_password[] = "";
  const std::unique_ptr<void, int (*)(void*)> bio(
      read_bio(pem.data(), static_cast<int>(pem.size())), free_bio);
  const std::unique_ptr<void, void (*)(void*)> key(
      bio ? read_key(bio.get(), nullptr, nullptr, no_password) : nullptr,
      free_key);
  const std::unique_ptr<void, void (*)(void*)> context(new_context(),
                                                       free_context);
  std::string signature(key ? key_size(key.get()) : 0, '\0');
  size_t size = signature.size();
  const bool is_signed =
      key != nullptr && context != nullptr &&
      begin(context.get(), nullptr, sha256(), nullptr, key.get()) == 1 &&
      sign(context.get(), reinterpret_cast<unsigned char*>(&signature[0]),
           &size, reinterpret_cast<const unsigned char*>(text.data()),
           text.size()) == 1;
  clear_errors();
  if (!is_signed) {
    return absl::InvalidArgumentError("private_key is not an RSA key");
  }
  signature.resize(size);
  return signature;
}

std::string JwtPart(absl::string_view bytes) {
  std::string text = absl::WebSafeBase64Escape(bytes);
  while (absl::EndsWith(text, "=")) text.pop_back();
  return text;
}

// The answer of Google's token servers.
absl::StatusOr<Credential> ReadGoogleToken(const std::string& body,
                                           absl::Time now) {
  ASSIGN_OR_RETURN(const CredentialFields fields, ReadJsonFields(body));
  Credential credential;
  credential.token = FieldOf(fields, "access_token");
  int64_t seconds = 0;
  if (credential.token.empty() ||
      !std::all_of(credential.token.begin(), credential.token.end(),
                   absl::ascii_isgraph) ||
      !absl::SimpleAtoi(FieldOf(fields, "expires_in"), &seconds) ||
      seconds <= 0) {
    return absl::DataLossError("the answer has no token");
  }
  credential.expires = now + absl::Seconds(seconds);
  return credential;
}

// A key file of a service account, or what `gcloud auth application-default
// login` leaves: a signed statement or a refresh token is exchanged for an
// access token.
absl::StatusOr<Credential> AskWithKeyFile(const StoreOptions& options,
                                          const std::string& path,
                                          absl::Time now) {
  const absl::StatusOr<std::string> text = ReadFile(path);
  if (!text.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "GOOGLE_APPLICATION_CREDENTIALS: ", path, " cannot be read"));
  }
  const auto fields = ReadJsonFields(*text);
  if (!fields.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", fields.status().message()));
  }
  std::string endpoint = FieldOf(*fields, "token_uri");
  if (endpoint.empty()) endpoint = "https://oauth2.googleapis.com/token";
  UrlQuery form;
  const std::string type = FieldOf(*fields, "type");
  if (type == "service_account") {
    const int64_t seconds = absl::ToUnixSeconds(now);
    const Json claims = {
        {"iss", FieldOf(*fields, "client_email")},
        {"scope", "https://www.googleapis.com/auth/devstorage.read_write"},
        {"aud", endpoint},
        {"iat", seconds},
        {"exp", seconds + 3600}};
    const auto jwt = SignJwt(claims.dump(), FieldOf(*fields, "private_key"));
    if (!jwt.ok()) return AtPlace(path, jwt.status());
    form = {{"grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"},
            {"assertion", *jwt}};
  } else if (type == "authorized_user") {
    form = {{"grant_type", "refresh_token"},
            {"client_id", FieldOf(*fields, "client_id")},
            {"client_secret", FieldOf(*fields, "client_secret")},
            {"refresh_token", FieldOf(*fields, "refresh_token")}};
  } else {
    return absl::InvalidArgumentError(absl::StrCat(
        path,
        ": its type is neither service_account nor authorized_user; use "
        "`gcloud auth print-access-token`"));
  }
  absl::StatusOr<HttpRequest> request = PrivateRequest(endpoint, false);
  if (!request.ok()) {
    return AtPlace(absl::StrCat(path, ": token_uri"), request.status());
  }
  request->method = "POST";
  request->body = EncodeQuery(form);
  const auto answer = FetchText(*request, FetchOptions(options));
  if (!answer.ok()) {
    return AtPlace(path, answer.status(),
                   "the token server refused the key; check that it is still "
                   "valid, and this machine's clock");
  }
  auto credential = ReadGoogleToken(answer->body, now);
  if (!credential.ok()) return AtPlace(path, credential.status());
  return credential;
}

absl::StatusOr<Credential> AskGoogleMetadata(const std::string& host,
                                             const HttpClientOptions& client,
                                             absl::Time now) {
  HttpRequest request;
  request.url = absl::StrCat(
      "http://", host,
      "/computeMetadata/v1/instance/service-accounts/default/token");
  request.headers = {"metadata-flavor: Google"};
  request.no_proxy = true;
  ASSIGN_OR_RETURN(const FetchedText text, FetchText(request, client));
  if (text.headers.Get("metadata-flavor") != "Google") {
    return absl::DataLossError("this is not Google's metadata server");
  }
  return ReadGoogleToken(text.body, now);
}

}  // namespace

absl::StatusOr<std::string> SignJwt(const std::string& claims,
                                    const std::string& pem) {
  const std::string text = absl::StrCat(
      JwtPart("{\"alg\":\"RS256\",\"typ\":\"JWT\"}"), ".", JwtPart(claims));
  ASSIGN_OR_RETURN(const std::string signature, RsaSha256(text, pem));
  return absl::StrCat(text, ".", JwtPart(signature));
}

CredentialLoader FindGoogleToken(const StoreOptions& options,
                                 const Variables& variables,
                                 std::function<absl::Time()> now) {
  for (const char* name :
       {"CLOUDSDK_AUTH_ACCESS_TOKEN", "GOOGLE_OAUTH_ACCESS_TOKEN"}) {
    Credential credential;
    credential.token = variables(name);
    if (!credential.token.empty()) return [credential] { return credential; };
  }
  const std::string token_file = variables("CLOUDSDK_AUTH_ACCESS_TOKEN_FILE");
  if (!token_file.empty()) {
    return [=]() -> absl::StatusOr<Credential> {
      Credential credential;
      ASSIGN_OR_RETURN(
          credential.token,
          ReadSecretFile("CLOUDSDK_AUTH_ACCESS_TOKEN_FILE", token_file));
      credential.expires = now() + kTryAgainAfter;
      return credential;
    };
  }
  const std::string places =
      "CLOUDSDK_AUTH_ACCESS_TOKEN, "
      "GOOGLE_OAUTH_ACCESS_TOKEN, "
      "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE";
  const auto nothing = [](std::string tried) -> CredentialLoader {
    Credential none;
    none.tried = std::move(tried);
    return [none] { return none; };
  };
  if (options.endpoint.empty() && !variables("STORAGE_EMULATOR_HOST").empty()) {
    return nothing(places);
  }
  std::string key_file = variables("GOOGLE_APPLICATION_CREDENTIALS");
  if (key_file.empty()) {
    std::string folder = variables("CLOUDSDK_CONFIG");
    if (folder.empty()) folder = variables("HOME") + "/.config/gcloud";
    const std::string known = folder + "/application_default_credentials.json";
    if (ReadFile(known).ok()) key_file = known;
  }
  if (!key_file.empty()) {
    return [=] { return AskWithKeyFile(options, key_file, now()); };
  }
  const std::string all =
      absl::StrCat(places,
                   ", GOOGLE_APPLICATION_CREDENTIALS, "
                   "application_default_credentials.json of gcloud, ");
  if (absl::EqualsIgnoreCase(variables("NO_GCE_CHECK"), "true")) {
    return nothing(all + "not the metadata server (NO_GCE_CHECK)");
  }
  std::string host = variables("GCE_METADATA_HOST");
  if (host.empty()) host = "169.254.169.254";
  if (!IsLoopbackHost(host) && !IsLinkLocalHost(host) &&
      host != "metadata.google.internal") {
    const absl::Status status = absl::InvalidArgumentError(
        "GCE_METADATA_HOST: tokens would be sent over http, where everybody on "
        "the way can read them; name metadata.google.internal or an address of "
        "169.254.0.0/16");
    return [status]() -> absl::StatusOr<Credential> { return status; };
  }
  const HttpClientOptions client =
      MetadataOptions(options, variables("GCE_METADATA_TIMEOUT"));
  return [=]() -> absl::StatusOr<Credential> {
    absl::StatusOr<Credential> found = AskGoogleMetadata(host, client, now());
    if (found.ok()) return found;
    Credential none;
    none.tried = all + Tried(host, found.status());
    return none;
  };
}

}  // namespace feedrate
