// Sums that do not depend on the order of their terms.
#ifndef FEEDRATE_LIB_STATS_EXACT_SUM_H_
#define FEEDRATE_LIB_STATS_EXACT_SUM_H_

#include <array>

namespace feedrate {

// Adds doubles exactly: one wide integer for each exponent. The same numbers
// give the same bits in whatever order and in however many parts they come, so
// a table does not change with the order of its files. About 2 ns a number.
class ExactSum {
 public:
  // REQUIRES: `value` is finite; fewer than 2^73 of them.
  void Add(double value);
  // The sum, rounded a few times at the very end.
  double Total() const;
  // Back to zero; costs as much as there are exponents in use.
  void Clear();

 private:
  static constexpr int kExponents = 2048;
  std::array<__int128, kExponents> bins_ = {};
  int low_ = kExponents;
  int high_ = -1;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STATS_EXACT_SUM_H_
