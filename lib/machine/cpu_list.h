// The kernel's notation for sets of processors, such as `0-3,8-11`.
#ifndef FEEDRATE_LIB_MACHINE_CPU_LIST_H_
#define FEEDRATE_LIB_MACHINE_CPU_LIST_H_

#include <vector>

#include "absl/strings/string_view.h"

namespace feedrate {

// Processor numbers in rising order, none twice. Empty when `text` is empty or
// is not such a list: half of a set would be worse than none.
std::vector<int> ParseCpuList(absl::string_view text);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MACHINE_CPU_LIST_H_
