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

// The release that feedrate is built and tested with.
inline constexpr char kTorchVersion[] = "2.11.0";

// The first that exists of: TORCH_ROOT (when it is set, only that), feedrate's
// own copies of that release in the user's cache, python3's torch. The build
// and the launcher look in the same places: third_party/torch/find_torch.sh.
TorchInfo FindTorch(const Root& root, const VariableReader& variables);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MACHINE_TORCH_H_
