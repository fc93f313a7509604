// When to ask again, and how long to wait before it.
#ifndef FEEDRATE_LIB_STORAGE_HTTP_RETRY_POLICY_H_
#define FEEDRATE_LIB_STORAGE_HTTP_RETRY_POLICY_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <random>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace feedrate {

// Another attempt may well succeed: UNAVAILABLE (5xx, connections that break,
// short bodies), DEADLINE_EXCEEDED (stalls), RESOURCE_EXHAUSTED (429) and
// DATA_LOSS (wrong checksums and lengths).
bool IsTransient(const absl::Status& status);

// Seconds of a Retry-After header; 0 where it has none, or a date.
double RetryAfterSeconds(absl::string_view value);

struct RetryPolicy {
  int retries = 6;  // After the first attempt.
  double first_wait_s = 0.1;
  double longest_wait_s = 10;
};

// Waits double, and of each at least half is kept, the rest is left to chance:
// many who failed together must not come back together. Not thread-safe.
class RetrySchedule {
 public:
  RetrySchedule(const RetryPolicy& policy, std::function<double()> now_s,
                uint64_t seed);

  // When to make another attempt after `failed` attempts, the last with
  // `status`; nothing where the error is final or no attempt is left.
  // `retry_after_s` is what the server asks for; it lengthens the wait up to
  // the longest.
  std::optional<double> NextAttemptAt(const absl::Status& status, int failed,
                                      double retry_after_s);

 private:
  RetryPolicy policy_;
  std::function<double()> now_s_;
  std::mt19937_64 random_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_HTTP_RETRY_POLICY_H_
