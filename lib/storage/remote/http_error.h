// What a status of HTTP means.
#ifndef FEEDRATE_LIB_STORAGE_REMOTE_HTTP_ERROR_H_
#define FEEDRATE_LIB_STORAGE_REMOTE_HTTP_ERROR_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace feedrate {

// The code that fits `status`; those that may pass are the transient ones of
// IsTransient.
absl::StatusCode CodeOfHttpStatus(int status);

// "HTTP 403 AccessDenied: Access Denied; check the permissions". `reason`,
// `message` and `remedy` may be empty; an empty remedy gets that of the code.
absl::Status HttpError(int status, absl::StatusCode code,
                       absl::string_view reason, absl::string_view message,
                       absl::string_view remedy);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_REMOTE_HTTP_ERROR_H_
