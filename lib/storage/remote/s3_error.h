// What S3's errors mean to a user.
#ifndef FEEDRATE_LIB_STORAGE_REMOTE_S3_ERROR_H_
#define FEEDRATE_LIB_STORAGE_REMOTE_S3_ERROR_H_

#include "absl/status/status.h"
#include "lib/storage/http/message.h"
#include "lib/storage/http/secrets.h"

namespace feedrate {

// One line with the remedy, without any of `secrets`. `was_signed` says whether
// credentials were sent.
absl::Status S3ErrorStatus(const HttpResponse& response, const Secrets& secrets,
                           bool was_signed);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_REMOTE_S3_ERROR_H_
