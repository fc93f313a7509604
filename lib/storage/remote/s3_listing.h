// What S3 answers: listings and errors.
#ifndef FEEDRATE_LIB_STORAGE_REMOTE_S3_LISTING_H_
#define FEEDRATE_LIB_STORAGE_REMOTE_S3_LISTING_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/storage/remote/list_page.h"

namespace feedrate {

// A page of ListObjectsV2. The checksum is that of the ETag where it looks like
// one. DataLoss, so that it is asked for again, where the page is not whole.
absl::StatusOr<ListPage> ParseS3Listing(absl::string_view body);

struct S3Error {
  std::string code;     // "NoSuchBucket"; empty where the body is no error.
  std::string message;  // Not redacted.
};

// Of everything that an error says only these two are used: others repeat the
// keys and the signature.
S3Error ParseS3Error(absl::string_view body);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_REMOTE_S3_LISTING_H_
