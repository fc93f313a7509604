// The fields of a config that a sweep can vary.
#ifndef FEEDRATE_LIB_PLANNING_AXIS_H_
#define FEEDRATE_LIB_PLANNING_AXIS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lib/config/run_config.pb.h"

namespace feedrate {

// Names of the axes that stand for a field, such as `workers`.
std::vector<std::string> FieldAxes();

// Path of the field behind the axis, such as `execution.workers`; "" when the
// axis is a setting of the mode.
std::string FieldOfAxis(absl::string_view axis);

// Sets the field behind `axis`. Says what is wrong, without a place, when
// `value` is not of the field's type. REQUIRES: FieldOfAxis(axis) is not "".
absl::Status SetAxis(absl::string_view axis, const std::string& value,
                     RunConfig* config);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_PLANNING_AXIS_H_
