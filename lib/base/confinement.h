// Keeps a program that nobody trusts from the network, from files, and from
// other processes, as far as this kernel allows it.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace feedrate {

struct Confinement {
  // A network and shared memory of its own, which nobody else uses, and no
  // privilege outside: by namespaces, of the user too. No socket with a name in
  // the file system, and no say over processors, priorities and limits of other
  // processes: by a filter for system calls.
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
// and caches. With `ends_all`, all processes of the run end with it where the
// kernel can do that, and it sees only their numbers, not those outside.
absl::StatusOr<std::vector<std::string>> ConfinedPrefix(
    const Confinement& confinement, const std::string& folder,
    bool ends_all = false);

// Makes this process the parent of all that its children leave behind.
absl::Status AdoptProcesses();
// Ends all children of this process, also those in sessions of their own: whose
// parent ends becomes a child of this process. DeadlineExceeded if they start
// new ones faster than they can be ended. REQUIRES: AdoptProcesses.
absl::Status EndProcesses();

// Runs the command if the arguments are those of ConfinedPrefix, and then never
// returns. Call it first in main.
void RunIfConfined(int argc, char** argv);

}  // namespace feedrate
