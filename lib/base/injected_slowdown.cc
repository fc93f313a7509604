#include "lib/base/injected_slowdown.h"

#include <chrono>
#include <cmath>
#include <cstdlib>

#include "absl/strings/numbers.h"

namespace feedrate {

InjectedSlowdown::InjectedSlowdown() {
  const char* text = std::getenv(kSlowdownVariable);
  double percent = 0;
  if (text != nullptr && absl::SimpleAtod(text, &percent) &&
      std::isfinite(percent) && percent > 0) {
    percent_ = percent;
  }
}

void InjectedSlowdown::Burn(double work_s) const {
  if (!is_active() || work_s <= 0) return;
  using Clock = std::chrono::steady_clock;
  const auto end =
      Clock::now() + std::chrono::duration<double>(work_s * percent_ / 100);
  while (Clock::now() < end) continue;
}

}  // namespace feedrate
