// Checksums of whole objects, as "md5:HEX", "crc32c:HEX" or "sha256:HEX".
#ifndef FEEDRATE_LIB_STORAGE_REMOTE_CHECKSUM_H_
#define FEEDRATE_LIB_STORAGE_REMOTE_CHECKSUM_H_

#include <string>

#include "absl/strings/string_view.h"
#include "lib/storage/http/message.h"

namespace feedrate {

// Whether `bytes` have `checksum`. One of a kind that is not known here proves
// nothing: true.
bool HasChecksum(absl::string_view bytes, absl::string_view checksum);

// The checksum costs next to nothing: no need for a thread of its own.
bool IsCheapChecksum(absl::string_view checksum, size_t bytes);

// "kind:HEX" of a digest in base64; empty where it is none of `bytes` bytes.
std::string ChecksumOfBase64(absl::string_view kind, absl::string_view base64,
                             size_t bytes);

// An ETag without its quotes that is an MD5 sum, as for objects of S3 that were
// not uploaded in parts; else empty.
std::string ChecksumOfEtag(absl::string_view etag);

// Of an answer of GCS: x-goog-hash. CRC-32C where it has several.
std::string GcsChecksum(const HttpHeaders& headers);

// Of an answer of S3: x-amz-checksum-* of the whole object, or the ETag where
// it is an MD5 sum. With a key of one's own (KMS) it only looks like one.
std::string S3Checksum(const HttpHeaders& headers);

// The object is encrypted so that its ETag is no MD5 sum.
bool IsOpaqueEtag(const HttpHeaders& headers);

// "\"abc\"" -> "abc".
absl::string_view WithoutQuotes(absl::string_view etag);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_REMOTE_CHECKSUM_H_
