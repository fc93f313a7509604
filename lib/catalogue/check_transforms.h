// Whether a transform set makes sense.
#ifndef FEEDRATE_LIB_CATALOGUE_CHECK_TRANSFORMS_H_
#define FEEDRATE_LIB_CATALOGUE_CHECK_TRANSFORMS_H_

#include <string>

#include "absl/status/status.h"
#include "lib/config/matrix.pb.h"
#include "lib/config/transforms.pb.h"

namespace feedrate {

// `set` is that of `scenario`, its names are unique, its libraries are in
// `matrix`, its parameters are NAME=VALUE, its references have an operation and
// a kind or a reason. InvalidArgument names `file`, the transform and the
// library.
absl::Status CheckTransforms(const TransformSet& set, const Scenario& scenario,
                             const Matrix& matrix, const std::string& file);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_CATALOGUE_CHECK_TRANSFORMS_H_
