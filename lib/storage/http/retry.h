// Which failed requests are sent again, and when.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <random>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace feedrate {

// Whether another attempt may succeed: UNAVAILABLE (5xx, broken connections,
// short bodies), DEADLINE_EXCEEDED (stalls), RESOURCE_EXHAUSTED (429) and
// DATA_LOSS (wrong checksums and lengths).
bool IsTransient(const absl::Status& status);

// Seconds in a Retry-After header; 0 if it has none, or a date.
double RetryAfterSeconds(absl::string_view value);

struct RetryPolicy {
  int retries = 6;  // Retries after the first attempt.
  double first_wait_s = 0.1;
  double longest_wait_s = 10;
};

// When to retry. The wait doubles each time. At least half of it is kept and
// the rest is random, so that clients that failed together do not retry
// together. Not thread-safe.
class RetrySchedule {
 public:
  RetrySchedule(const RetryPolicy& policy, std::function<double()> now_s,
                uint64_t seed);

  // The time of the next attempt after `failed` attempts, the last of which
  // ended with `status`; nothing if the error is final or no attempt is left.
  // `retry_after_s` is what the server requests; it extends the wait up to
  // longest_wait_s.
  std::optional<double> NextAttemptAt(const absl::Status& status, int failed,
                                      double retry_after_s);

 private:
  RetryPolicy policy_;
  std::function<double()> now_s_;
  std::mt19937_64 random_;
};

}  // namespace feedrate
