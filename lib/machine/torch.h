// The torch that programs here use, found without starting Python.
#ifndef FEEDRATE_LIB_MACHINE_TORCH_H_
#define FEEDRATE_LIB_MACHINE_TORCH_H_

#include <string>

#include "lib/machine/environment_variables.h"
#include "lib/machine/root.h"

namespace feedrate {

struct TorchInfo {
  // Such as `2.11.0+cu130`. Empty: there is none.
  std::string version;
  // The package's folder, with include/ and lib/ in it.
  std::string folder;
};

// The first that exists of: TORCH_ROOT (when it is set, only that), feedrate's
// own copy in the user's cache, python3's torch.
TorchInfo FindTorch(const Root& root, const VariableReader& variables);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MACHINE_TORCH_H_
