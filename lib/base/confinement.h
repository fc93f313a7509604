// Keeps a program that nobody trusts from the network, from files, and from
// other processes, as far as this kernel allows it.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace feedrate {

struct Confinement {
  // A network and shared memory of its own, which nobody else uses, and no
  // privilege outside: by namespaces, of the user too.
  bool network = false;
  // Writes only to its own folder; cannot read or change the memory of
  // processes that are not confined, nor their descriptors: by Landlock.
  bool files = false;

  bool Whole() const { return network && files; }
};

// Finds out, in a process that ends, what is possible here.
Confinement FindConfinement();

// What to put before a command, which names its program with the full path, so
// that it runs with this confinement: this program again, whose main calls
// RunIfConfined. Each run makes a folder of its own below `folder`, for TMPDIR
// and caches.
absl::StatusOr<std::vector<std::string>> ConfinedPrefix(
    const Confinement& confinement, const std::string& folder);

// Runs the command if the arguments are those of ConfinedPrefix, and then never
// returns. Call it first in main.
void RunIfConfined(int argc, char** argv);

}  // namespace feedrate
