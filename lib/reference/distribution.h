// Transforms that are random by nature: not one draw is compared, but whether
// the output can be one.
#ifndef FEEDRATE_LIB_REFERENCE_DISTRIBUTION_H_
#define FEEDRATE_LIB_REFERENCE_DISTRIBUTION_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/config/transforms.pb.h"
#include "lib/reference/pixels.h"

namespace feedrate {

// What an output says about the transform it came from.
struct DrawCheck {
  // Whether the transform can draw it. For noise, whether it is likely to.
  bool possible = false;
  // Whether every value is one that the definition allows to the byte; noise is
  // only ever likely.
  bool exact = false;
  // For people: what does not fit. Empty when possible.
  std::string problem;
};

// Whether `output` is a draw of `reference` for `input`. InvalidArgument names
// the operation and what is wrong with it. REQUIRES: kind DISTRIBUTION.
absl::StatusOr<DrawCheck> CheckDraw(const Reference& reference,
                                    const Pixels& input, const Pixels& output);

// The names that CheckDraw knows, sorted.
std::vector<std::string> DistributionOps();

}  // namespace feedrate

#endif  // FEEDRATE_LIB_REFERENCE_DISTRIBUTION_H_
