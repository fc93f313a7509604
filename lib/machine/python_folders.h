// Where python3 looks for packages, found without starting it.
#ifndef FEEDRATE_LIB_MACHINE_PYTHON_FOLDERS_H_
#define FEEDRATE_LIB_MACHINE_PYTHON_FOLDERS_H_

#include <string>
#include <vector>

#include "lib/machine/environment_variables.h"
#include "lib/machine/root.h"

namespace feedrate {

// Folders with installed packages of the `python3` that PATH gives, in the
// order that it searches them; some may not exist. Knows virtual environments,
// pyenv's shims, Debian's dist-packages, the user's own packages and
// PYTHONPATH. What .pth files add is left out.
//
// Starting Python to ask would take longer than all else that reads a machine.
std::vector<std::string> PythonPackageFolders(const Root& root,
                                              const VariableReader& variables);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MACHINE_PYTHON_FOLDERS_H_
