// From values to places on paper, and where ticks stand.
#ifndef FEEDRATE_LIB_DRAW_SCALE_H_
#define FEEDRATE_LIB_DRAW_SCALE_H_

#include <string>
#include <vector>

namespace feedrate {

enum class ScaleType { kLinear, kLog };

struct Tick {
  double value;
  // Empty: a minor tick.
  std::string label;
};

// An axis from `low` to `high`, widened to round numbers.
class Scale {
 public:
  // Covers [low, high]. A linear scale takes in 0 when `from_zero`. A log
  // scale has positive ends: values at or below 0 are placed at its low end.
  // Any input gives a usable scale, equal or absurd ends too.
  Scale(ScaleType type, double low, double high, bool from_zero);

  // Where the ends are drawn. `start` > `end` for axes that grow upwards.
  void SetRange(double start, double end);

  // Place of `value`; beyond the ends it is the end.
  double Map(double value) const;

  // About `wanted` labelled ticks at 1, 2 or 5 times a power of ten; on a log
  // scale over many decades at powers of ten, the rest minor.
  std::vector<Tick> Ticks(int wanted) const;

  ScaleType type() const { return type_; }
  double low() const { return low_; }
  double high() const { return high_; }

 private:
  std::vector<Tick> LinearTicks(int wanted) const;
  std::vector<Tick> LogTicks(int wanted) const;

  const ScaleType type_;
  double low_;
  double high_;
  double start_ = 0;
  double end_ = 1;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_DRAW_SCALE_H_
