// What each transform means.
//
// The catalogue names an operation and its parameters for each transform; here
// they become pixels, straight from the definition, in double precision, slow
// and readable. No library under test is asked.
#ifndef FEEDRATE_LIB_REFERENCE_REFERENCE_H_
#define FEEDRATE_LIB_REFERENCE_REFERENCE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/config/transforms.pb.h"
#include "lib/reference/pixels.h"

namespace feedrate {

// The outputs that `reference` allows for `image`: one, or as many as there are
// equal choices, such as four quarter turns. InvalidArgument names the
// operation and what is wrong with it. REQUIRES: not DISTRIBUTION, and an image
// that is not empty.
absl::StatusOr<std::vector<Pixels>> ComputeReference(const Reference& reference,
                                                     const Pixels& image);

// The names that ComputeReference knows, sorted.
std::vector<std::string> ReferenceOps();

// One line for people, such as `gaussian_blur size=5 sigma=2`.
std::string ReferenceText(const Reference& reference);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_REFERENCE_REFERENCE_H_
