// The id of a set-up: equal ids, equal hardware and software.
#ifndef FEEDRATE_LIB_ENVIRONMENT_ENV_ID_H_
#define FEEDRATE_LIB_ENVIRONMENT_ENV_ID_H_

#include <map>
#include <string>

#include "lib/machine/machine.h"

namespace feedrate {

// Libraries in use with their versions: `glibc`, `torch` where there is one,
// and those that a runner measures.
std::map<std::string, std::string> Libraries(const MachineInfo& machine);

// What the id is made of, one `name=value` a line: hardware, kernel, driver
// and library versions. Host name, git revision, clocks, load, affinity, power
// limits and the distribution's name are not in it.
std::string EnvIdText(const MachineInfo& machine);

// First 16 hexadecimal digits of the SHA-256 of EnvIdText.
std::string EnvId(const MachineInfo& machine);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ENVIRONMENT_ENV_ID_H_
