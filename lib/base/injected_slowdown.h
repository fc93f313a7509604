// Slowness on purpose, so that a gate can be tried on a real one.
//
// A program that times work calls Burn inside the timed part, after each piece
// of work: with FEEDRATE_SLOWDOWN_PERCENT=3 in its environment it then takes 3%
// longer, by a busy loop. Without the variable Burn returns at once.
//
//   static const InjectedSlowdown slowdown;
//   const double start = Now(); Work(); slowdown.Burn(Now() - start);
#ifndef FEEDRATE_LIB_BASE_INJECTED_SLOWDOWN_H_
#define FEEDRATE_LIB_BASE_INJECTED_SLOWDOWN_H_

namespace feedrate {

inline constexpr char kSlowdownVariable[] = "FEEDRATE_SLOWDOWN_PERCENT";

class InjectedSlowdown {
 public:
  // By the environment. What is no number above 0 is none.
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

#endif  // FEEDRATE_LIB_BASE_INJECTED_SLOWDOWN_H_
