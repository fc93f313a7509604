// Checksums: CRC-32C, which TFRecord files and cloud storage use, and checksums
// of whole objects, as "md5:HEX", "crc32c:HEX", "crc32:HEX", "crc64nvme:HEX" or
// "sha256:HEX".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace feedrate {

class HttpHeaders;

// The CRC-32C of `bytes`. To continue a checksum, pass the checksum of the
// preceding bytes as `before`.
uint32_t Crc32c(absl::string_view bytes, uint32_t before = 0);

// The checksum as TFRecord files store it: rotated and offset, so that data
// that contains checksums is not a special case.
uint32_t MaskedCrc32c(absl::string_view bytes);

// Whether `bytes` have `checksum`. Returns true for a checksum of an unknown
// kind, which proves nothing.
bool HasChecksum(absl::string_view bytes, absl::string_view checksum);

// Whether the checksum is so cheap to compute that it needs no separate thread.
bool IsCheapChecksum(absl::string_view checksum, size_t bytes);

// "kind:HEX" for a digest in base64; empty unless the digest has `bytes` bytes.
std::string ChecksumOfBase64(absl::string_view kind, absl::string_view base64,
                             size_t bytes);

// "crc32c:HEX".
std::string ChecksumOfCrc32c(uint32_t crc32c);

// As the headers of S3 and GCS have it.
std::string Base64OfCrc32c(uint32_t crc32c);

// The checksum for an ETag (without quotes) that is an MD5 sum, as for S3
// objects that were not uploaded in parts; otherwise empty.
std::string ChecksumOfEtag(absl::string_view etag);

// The checksum in a response of GCS: x-goog-hash, preferably CRC-32C.
std::string GcsChecksum(const HttpHeaders& headers);

// The checksum in a response of S3: x-amz-checksum-* of the whole object, or
// the ETag if it is an MD5 sum. For objects encrypted with a customer key (KMS)
// the ETag only looks like an MD5 sum.
std::string S3Checksum(const HttpHeaders& headers);

// Whether the object is encrypted so that its ETag is not an MD5 sum.
bool IsOpaqueEtag(const HttpHeaders& headers);

// "\"abc\"" -> "abc".
absl::string_view WithoutQuotes(absl::string_view etag);

// The ETag of a header or a listing without its quotes, if it names one
// version: empty for a weak one, which stands for different bytes that mean the
// same, for two, and for text that no header can have (it is sent back in one).
absl::string_view StrongEtag(absl::string_view header);

}  // namespace feedrate
