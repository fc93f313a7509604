// A deliberate slowdown, to test that a gate detects a real one.
//
// A program that times work calls Burn inside the timed part, after each piece
// of work. With FEEDRATE_SLOWDOWN_PERCENT=3 in the environment a busy loop
// makes it take 3% longer. Without the variable Burn returns at once.
//
//   static const InjectedSlowdown slowdown;
//   const double start = Now(); Work(); slowdown.Burn(Now() - start);
#pragma once

namespace feedrate {

inline constexpr char kSlowdownVariable[] = "FEEDRATE_SLOWDOWN_PERCENT";

class InjectedSlowdown {
 public:
  // Reads the environment variable. Anything but a number above 0 means no
  // slowdown.
  InjectedSlowdown();
  explicit InjectedSlowdown(double percent) : percent_(percent) {}

  bool is_active() const { return percent_ > 0; }
  double percent() const { return percent_; }

  // Keeps this thread busy for `percent` of `work_s` seconds.
  void Burn(double work_s) const;

 private:
  double percent_ = 0;
};

}  // namespace feedrate
