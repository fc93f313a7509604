// The flags of overrides.h on the command line of a program.
#pragma once

#include "lib/config/overrides.h"

namespace feedrate {

// Returns the flags that were set. Linking this defines them. REQUIRES: flags
// are parsed.
Overrides OverridesFromFlags();

}  // namespace feedrate
