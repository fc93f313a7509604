// Whether the policy makes sense.
#ifndef FEEDRATE_LIB_CATALOGUE_CHECK_POLICY_H_
#define FEEDRATE_LIB_CATALOGUE_CHECK_POLICY_H_

#include <string>

#include "absl/status/status.h"
#include "lib/config/policy.pb.h"

namespace feedrate {

// Required fields are there and within bounds, no entry is there twice, and
// defaults are among what they are defaults of. InvalidArgument names `file`
// and the entry.
absl::Status CheckPolicy(const Policy& policy, const std::string& file);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_CATALOGUE_CHECK_POLICY_H_
