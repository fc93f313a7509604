// HMAC-SHA-256 (RFC 2104), for signed requests.
#ifndef FEEDRATE_LIB_HASH_HMAC_SHA256_H_
#define FEEDRATE_LIB_HASH_HMAC_SHA256_H_

#include <string>

namespace feedrate {

// The 32 bytes, not hexadecimal: they are the key of the next round.
std::string HmacSha256(const std::string& key, const std::string& message);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_HASH_HMAC_SHA256_H_
