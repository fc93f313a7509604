// The policy in words.
#ifndef FEEDRATE_DOCS_GENERATOR_POLICY_SECTION_H_
#define FEEDRATE_DOCS_GENERATOR_POLICY_SECTION_H_

#include <string>

#include "lib/config/policy.pb.h"

namespace feedrate {

std::string PolicySection(const Policy& policy);

}  // namespace feedrate

#endif  // FEEDRATE_DOCS_GENERATOR_POLICY_SECTION_H_
