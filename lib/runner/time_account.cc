#include "lib/runner/time_account.h"

#include <string>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace feedrate {
namespace {

constexpr const char* kNames[] = {"import",      "media",     "prepare",
                                  "equivalence", "preflight", "warm-up",
                                  "timed"};

}  // namespace

TimeAccount::TimeAccount() : start_(absl::Now()) {}

TimeAccount::Entry::Entry(TimeAccount* account, Spending spending)
    : account_(account), spending_(spending), start_(absl::Now()) {}

TimeAccount::Entry::~Entry() {
  account_->seconds_[static_cast<int>(spending_)] +=
      absl::ToDoubleSeconds(absl::Now() - start_);
}

double TimeAccount::Seconds(Spending spending) const {
  return seconds_[static_cast<int>(spending)];
}

double TimeAccount::Total() const {
  return absl::ToDoubleSeconds(absl::Now() - start_);
}

double TimeAccount::MeasuredShare() const {
  return (Seconds(Spending::kImport) + Seconds(Spending::kPreflight) +
          Seconds(Spending::kWarmUp) + Seconds(Spending::kTimed)) /
         Total();
}

std::string TimeAccount::Text() const {
  const double total = Total();
  double rest = total;
  std::string text = absl::StrFormat("%.2f s: ", total);
  for (int i = 0; i < kSpendings; ++i) {
    rest -= seconds_[i];
    absl::StrAppendFormat(&text, "%s %.1f%%, ", kNames[i],
                          100 * seconds_[i] / total);
  }
  absl::StrAppendFormat(&text, "harness %.1f%%", 100 * rest / total);
  return text;
}

}  // namespace feedrate
