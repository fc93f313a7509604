// S3, and servers that speak like it.
#ifndef FEEDRATE_LIB_STORAGE_REMOTE_S3_DIALECT_H_
#define FEEDRATE_LIB_STORAGE_REMOTE_S3_DIALECT_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lib/storage/remote/aws_settings.h"
#include "lib/storage/remote/dialect.h"

namespace feedrate {

// For s3://bucket/prefix. Signatures take their time from `now`.
absl::StatusOr<std::unique_ptr<Dialect>> NewS3Dialect(
    const std::string& url, const AwsSettings& settings,
    std::function<absl::Time()> now);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_REMOTE_S3_DIALECT_H_
