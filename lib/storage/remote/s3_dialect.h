// S3, and servers that speak its protocol.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "lib/storage/http/message.h"
#include "lib/storage/http/url.h"
#include "lib/storage/remote/aws_settings.h"
#include "lib/storage/remote/dialect.h"
#include "lib/storage/remote/xml.h"

namespace feedrate {

// Parses a page of ListObjectsV2. The checksum is taken from the ETag if it
// looks like one. DataLoss, so that it is retried, if the page is incomplete.
absl::StatusOr<ListPage> ParseS3Listing(absl::string_view body);

struct S3Error {
  std::string code;     // "NoSuchBucket"; empty if the body is not an error.
  std::string message;  // Not redacted.
};

// Parses an error response. Only these two fields are used, because others
// repeat the keys and the signature.
S3Error ParseS3Error(absl::string_view body);

// The status for an error response: one line with the remedy, without any of
// `secrets`. `tried` names the places without credentials; empty if the request
// was signed.
absl::Status S3ErrorStatus(const HttpResponse& response, const Secrets& secrets,
                           absl::string_view tried);

// Parses a page of the parts that GetObjectAttributes lists, as
// Dialect::ParsePartSums. DataLoss if it is broken.
inline constexpr int64_t kMaxS3Parts = 10000;  // An object has no more.
absl::StatusOr<int64_t> ParseS3PartSums(absl::string_view version,
                                        absl::string_view body,
                                        std::vector<PartSum>* sums);

// For s3://bucket/prefix. Signatures use the time from `now`.
absl::StatusOr<std::unique_ptr<Dialect>> NewS3Dialect(
    const std::string& url, const AwsSettings& settings,
    std::function<absl::Time()> now);

}  // namespace feedrate
