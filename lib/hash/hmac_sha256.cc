#include "lib/hash/hmac_sha256.h"

#include <cstdint>

#include "lib/hash/sha256.h"

namespace feedrate {
namespace {

std::string Digest(const std::string& first, const std::string& second) {
  Sha256 hash;
  hash.Update(first.data(), first.size());
  hash.Update(second.data(), second.size());
  uint8_t digest[Sha256::kDigestSize];
  hash.Finish(digest);
  return std::string(reinterpret_cast<const char*>(digest), sizeof(digest));
}

}  // namespace

std::string HmacSha256(const std::string& key, const std::string& message) {
  std::string block = key.size() > Sha256::kBlockSize ? Digest(key, "") : key;
  block.resize(Sha256::kBlockSize, '\0');
  std::string inner = block;
  std::string outer = block;
  for (char& byte : inner) byte = static_cast<char>(byte ^ 0x36);
  for (char& byte : outer) byte = static_cast<char>(byte ^ 0x5c);
  return Digest(outer, Digest(inner, message));
}

}  // namespace feedrate
