// Credentials, region and endpoint for S3, from the same places as AWS's own
// tools, and signatures of requests.
#pragma once

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/storage/object_store.h"
#include "lib/storage/remote/credentials.h"

namespace feedrate {

// An AWS profile file: section to key to value. Keys are in lower case; a key
// that is indented below another key is joined to it: "s3.addressing_style".
using IniFile = std::map<std::string, std::map<std::string, std::string>>;

// Skips lines that it does not understand, like AWS's own tools. They are not
// reported, because their text may be a secret.
IniFile ParseIni(absl::string_view text);

struct AwsSettings {
  // Finds the keys; null if requests are not signed.
  CredentialLoader load;
  std::string region;    // Defaults to us-east-1.
  std::string endpoint;  // "http://host:port"; empty for Amazon's own.
  // Whether the bucket's name goes into the path instead of before the host.
  bool path_style = false;
  std::string redirect_hosts;  // See StoreOptions.
};

// The options take precedence over AWS_* variables, and these over the profile
// AWS_PROFILE in ~/.aws/credentials and ~/.aws/config, and this over roles (see
// FindAwsRole). It is not an error if there are no credentials. Does not
// contact a server. InvalidArgument for incomplete credentials, for a
// named profile that does not exist, and for an endpoint that is not an
// address.
absl::StatusOr<AwsSettings> FindAwsSettings(const StoreOptions& options,
                                            const Variables& variables);

// SHA-256 of an empty text, the body of a GET.
constexpr absl::string_view kEmptyBodySha256 =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

// What a signature of version 4 covers.
struct SigV4Request {
  std::string method = "GET";
  std::string path;   // Encoded as it is sent; at least "/".
  std::string query;  // As returned by EncodeQuery.
  // Signed headers, including x-amz-date and host. Names are in lower case,
  // values have no surrounding spaces.
  std::map<std::string, std::string> headers;
  std::string body_sha256 = std::string(kEmptyBodySha256);
};

struct SigV4Key {
  std::string access_key;
  std::string secret_key;
  std::string region;
  std::string service = "s3";
};

// The value of the Authorization header. REQUIRES: headers contain
// "x-amz-date", such as 20130524T000000Z.
std::string SigV4Authorization(const SigV4Request& request,
                               const SigV4Key& key);

}  // namespace feedrate
