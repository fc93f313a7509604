// Environment variables, or a test's own.
#ifndef FEEDRATE_LIB_MACHINE_ENVIRONMENT_VARIABLES_H_
#define FEEDRATE_LIB_MACHINE_ENVIRONMENT_VARIABLES_H_

#include <cstdlib>
#include <functional>
#include <map>
#include <string>

namespace feedrate {

// Value of a variable. Empty when it is not set: no variable read here means
// something else by being set to nothing.
using VariableReader = std::function<std::string(const std::string& name)>;

// The variables of this process.
inline VariableReader ProcessVariables() {
  return [](const std::string& name) -> std::string {
    const char* value = std::getenv(name.c_str());
    return value != nullptr ? value : "";
  };
}

// These and no others.
inline VariableReader FixedVariables(std::map<std::string, std::string> all) {
  return [all](const std::string& name) {
    const auto found = all.find(name);
    return found == all.end() ? std::string() : found->second;
  };
}

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MACHINE_ENVIRONMENT_VARIABLES_H_
