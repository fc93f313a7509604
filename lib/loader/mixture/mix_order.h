// Which data set each sample of a mixture comes from.
#ifndef FEEDRATE_LIB_LOADER_MIXTURE_MIX_ORDER_H_
#define FEEDRATE_LIB_LOADER_MIXTURE_MIX_ORDER_H_

#include <cstdint>
#include <vector>

namespace feedrate {

// First `prime` samples of each data set in turn; then blocks of `block`
// samples, each from a data set that is drawn by weight. A function of the
// position alone, so that any thread gets the same answer at any time.
class MixOrder {
 public:
  // REQUIRES: weights are above 0, at least one; block > 0, prime >= 0.
  MixOrder(const std::vector<double>& weights, int block, int prime,
           uint64_t seed);

  // Of the sample at `position`, from 0.
  int DatasetAt(int64_t position) const;
  // The first position behind `position` that may be of another data set.
  int64_t BlockEnd(int64_t position) const;

 private:
  std::vector<double> rising_;  // Shares, added up.
  int64_t block_;
  int64_t prime_;
  uint64_t seed_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_MIXTURE_MIX_ORDER_H_
