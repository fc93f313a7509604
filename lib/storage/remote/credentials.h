// Credentials that somebody else hands out and that expire: roles of machines,
// containers and users of AWS, service accounts of Google.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "lib/storage/http/client.h"
#include "lib/storage/http/message.h"
#include "lib/storage/http/url.h"
#include "lib/storage/object_store.h"
#include "lib/storage/remote/work_thread.h"

namespace feedrate {

// Returns the value of an environment variable; empty if it is not set.
using Variables = std::function<std::string(const std::string& name)>;

struct Credential {
  // Empty for Google, and if there are no credentials.
  std::string access_key;
  std::string secret_key;
  std::string token;  // Session token of AWS, access token of Google.
  absl::Time expires = absl::InfiniteFuture();
  // The places that have none; set if there are no credentials.
  std::string tried;
};

// Finds the credential, with requests if need be. May block.
using CredentialLoader = std::function<absl::StatusOr<Credential>()>;

// Keeps a credential and gets the next one before it expires. Thread-safe.
class CredentialCache {
 public:
  CredentialCache(CredentialLoader load, std::function<absl::Time()> now);
  ~CredentialCache() { refresher_.Stop(); }

  // Blocks for the first credential and for one that has expired: without them
  // no request can be sent. Otherwise the next one is loaded meanwhile by
  // another thread, and if that fails, this one is used until it expires.
  absl::StatusOr<Credential> Get();

  // Returns what must not be printed: the keys and tokens of all credentials so
  // far.
  Secrets secrets() const;
  // The places that have no credentials; empty if some were found.
  std::string tried() const;

 private:
  void Keep(const Credential& credential);
  bool IsRefreshDue(absl::Time now) const;

  const CredentialLoader load_;
  const std::function<absl::Time()> now_;
  // Held while the first credential is loaded, so that it is loaded once.
  std::mutex loading_;
  mutable std::mutex mutex_;
  Credential held_;
  Secrets secrets_;
  absl::Time loaded_at_ = absl::InfinitePast();
  absl::Time tried_at_ = absl::InfinitePast();
  bool is_refreshing_ = false;
  WorkThread refresher_;  // Last: what it runs uses the rest.
};

// The fields of a JSON object whose values are texts or whole numbers; those of
// an object in it as "outer.inner". DataLoss, without the text, which may be a
// secret, if it is not a JSON object.
using CredentialFields = std::map<std::string, std::string>;
absl::StatusOr<CredentialFields> ReadJsonFields(absl::string_view text);

// The value of a field; empty if there is none.
std::string FieldOf(const CredentialFields& fields, const std::string& name);

// The credential in an answer of AWS, whose fields begin with `prefix`. Names
// are compared without regard to case.
absl::StatusOr<Credential> ReadAwsCredential(const CredentialFields& fields,
                                             absl::string_view prefix);

// The error of a source that was asked for by name: final, with the place and
// the remedy.
absl::Status AtPlace(absl::string_view place, const absl::Status& status,
                     absl::string_view remedy = "");

// "place (reason)", for Credential::tried.
std::string Tried(absl::string_view place, const absl::Status& status);

// How often a credential in a file is read again, and a refresh tried again.
inline constexpr absl::Duration kTryAgainAfter = absl::Seconds(10);

// Servers that were named have the patience of the store; metadata servers,
// which may not exist, have one attempt of `timeout` seconds (1 if it is no
// number).
HttpClientOptions FetchOptions(const StoreOptions& options);
HttpClientOptions MetadataOptions(const StoreOptions& options,
                                  const std::string& timeout);

// Secrets are sent to and expected from servers that nobody else can listen to:
// over https, on this machine, or if `is_metadata` next to it.
absl::StatusOr<HttpRequest> PrivateRequest(const std::string& url,
                                           bool is_metadata);

// The text of a file, without spaces around it. `place` says who named it.
absl::StatusOr<std::string> ReadSecretFile(const std::string& place,
                                           const std::string& path);

// Where AWS's tools look after the environment, in their order: a web identity,
// SSO, the keys of the profile, a container's role, this machine's role
// (IMDSv2). `profile` has the keys of the profile and, as "sso_session.KEY",
// those of its SSO session. Does not contact a server.
CredentialLoader FindAwsRole(const StoreOptions& options,
                             const Variables& variables,
                             const CredentialFields& profile,
                             const std::string& region,
                             std::function<absl::Time()> now);

// Where Google's tools look: CLOUDSDK_AUTH_ACCESS_TOKEN,
// GOOGLE_OAUTH_ACCESS_TOKEN, the file CLOUDSDK_AUTH_ACCESS_TOKEN_FILE, the key
// file GOOGLE_APPLICATION_CREDENTIALS, gcloud's own file, and the metadata
// server. An emulator (STORAGE_EMULATOR_HOST) gets a token of the first three
// only.
CredentialLoader FindGoogleToken(const StoreOptions& options,
                                 const Variables& variables,
                                 std::function<absl::Time()> now);

// A JSON web token for `claims` that is signed with the RSA key `pem`.
// InvalidArgument if `pem` is not one.
absl::StatusOr<std::string> SignJwt(const std::string& claims,
                                    const std::string& pem);

}  // namespace feedrate
