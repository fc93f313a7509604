#include "lib/storage/remote/sigv4.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "lib/hash/sha256.h"
#include "lib/hash/store_hashes.h"

namespace feedrate {
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
