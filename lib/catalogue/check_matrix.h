// Whether the support matrix makes sense.
#ifndef FEEDRATE_LIB_CATALOGUE_CHECK_MATRIX_H_
#define FEEDRATE_LIB_CATALOGUE_CHECK_MATRIX_H_

#include <string>

#include "absl/status/status.h"
#include "lib/config/matrix.pb.h"
#include "lib/config/policy.pb.h"
#include "lib/config/transforms.pb.h"

namespace feedrate {

// Required fields are there, names are unique and known to each other and to
// `policy`, and nobody is turned away without a reason. InvalidArgument names
// `file` and the entry. REQUIRES: CheckPolicy(policy) is OK.
absl::Status CheckMatrix(const Matrix& matrix, const Policy& policy,
                         const std::string& file);

// The exceptions of `scenario` name transforms of its `set`. Apart from the
// rest, because it needs the set.
absl::Status CheckExceptions(const Matrix& matrix, const Scenario& scenario,
                             const TransformSet& set, const std::string& file);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_CATALOGUE_CHECK_MATRIX_H_
