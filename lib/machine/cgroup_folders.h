// Where the files of this process's control group lie.
#ifndef FEEDRATE_LIB_MACHINE_CGROUP_FOLDERS_H_
#define FEEDRATE_LIB_MACHINE_CGROUP_FOLDERS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "lib/machine/root.h"

namespace feedrate {

struct CgroupFolders {
  // 1 or 2: the kind of hierarchy that has the controller. 0: none is mounted.
  int version = 0;
  // The process's own group first, then its parents up to the highest that is
  // visible here. A limit of any of them holds for the process.
  std::vector<std::string> folders;
};

// Finds the group for a controller, such as `cpu`. A version 1 hierarchy that
// has the controller wins, because version 2 then cannot have it.
CgroupFolders FindCgroup(const Root& root, absl::string_view controller);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MACHINE_CGROUP_FOLDERS_H_
