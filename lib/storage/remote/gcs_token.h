// The bearer token for GCS, from where Google's own tools take it.
#ifndef FEEDRATE_LIB_STORAGE_REMOTE_GCS_TOKEN_H_
#define FEEDRATE_LIB_STORAGE_REMOTE_GCS_TOKEN_H_

#include <functional>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace feedrate {

// CLOUDSDK_AUTH_ACCESS_TOKEN or GOOGLE_OAUTH_ACCESS_TOKEN, or the content of
// CLOUDSDK_AUTH_ACCESS_TOKEN_FILE, which is read again now and then: tokens
// last an hour, runs longer. Thread-safe.
class GcsToken {
 public:
  GcsToken(const std::function<std::string(const std::string&)>& variables,
           std::function<absl::Time()> now);

  // Empty: there is none, and objects must be public. Neither it nor an error
  // may be told with the token in it.
  absl::StatusOr<std::string> Get();

 private:
  const std::string file_;
  const std::function<absl::Time()> now_;
  std::mutex mutex_;
  std::string token_;
  absl::Time read_at_ = absl::InfinitePast();
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_REMOTE_GCS_TOKEN_H_
