// Names of ARM processors, which /proc/cpuinfo gives as numbers only.
#ifndef FEEDRATE_LIB_MACHINE_ARM_MODELS_H_
#define FEEDRATE_LIB_MACHINE_ARM_MODELS_H_

#include <string>

#include "absl/strings/string_view.h"

namespace feedrate {

// Name of a core, such as `Neoverse-V2` for (`0x41`, `0xd4f`). A core that is
// not in the table is named by its numbers, `ARM-0x41-0xfff`; empty when either
// number is missing.
std::string ArmModelName(absl::string_view implementer, absl::string_view part);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MACHINE_ARM_MODELS_H_
