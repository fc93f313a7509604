// Signatures of requests to AWS, version 4.
#ifndef FEEDRATE_LIB_STORAGE_REMOTE_SIGV4_H_
#define FEEDRATE_LIB_STORAGE_REMOTE_SIGV4_H_

#include <map>
#include <string>

#include "absl/strings/string_view.h"

namespace feedrate {

// SHA-256 of nothing: the body of a GET.
constexpr absl::string_view kEmptyBodySha256 =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

struct SigV4Request {
  std::string method = "GET";
  std::string path;   // Encoded as it is sent, "/" at least.
  std::string query;  // As EncodeQuery writes it.
  // Those that are signed, x-amz-date and host among them; names in lower case,
  // values without spaces around them.
  std::map<std::string, std::string> headers;
  std::string body_sha256 = std::string(kEmptyBodySha256);
};

struct SigV4Key {
  std::string access_key;
  std::string secret_key;
  std::string region;
  std::string service = "s3";
};

// The value of the Authorization header. REQUIRES: headers has "x-amz-date",
// such as 20130524T000000Z.
std::string SigV4Authorization(const SigV4Request& request,
                               const SigV4Key& key);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_REMOTE_SIGV4_H_
