#include "lib/storage/http/retry.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/numbers.h"

namespace feedrate {

bool IsTransient(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kDataLoss:
      return true;
    default:
      return false;
  }
}

double RetryAfterSeconds(absl::string_view value) {
  double seconds = 0;
  if (!absl::SimpleAtod(value, &seconds) || !std::isfinite(seconds)) return 0;
  return std::max(0.0, seconds);
}

RetrySchedule::RetrySchedule(const RetryPolicy& policy,
                             std::function<double()> now_s, uint64_t seed)
    : policy_(policy), now_s_(std::move(now_s)), random_(seed) {}

std::optional<double> RetrySchedule::NextAttemptAt(const absl::Status& status,
                                                   int failed,
                                                   double retry_after_s) {
  if (!IsTransient(status) || failed > policy_.retries) return std::nullopt;
  const double doubled = std::ldexp(policy_.first_wait_s, failed - 1);
  const double wait = std::min(doubled, policy_.longest_wait_s);
  const double chance = std::uniform_real_distribution<>(0.5, 1)(random_);
  const double asked = std::min(retry_after_s, policy_.longest_wait_s);
  return now_s_() + std::max(wait * chance, asked);
}

}  // namespace feedrate
