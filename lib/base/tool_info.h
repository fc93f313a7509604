// What a program says of itself: the one source of --help and completions.
#ifndef FEEDRATE_LIB_BASE_TOOL_INFO_H_
#define FEEDRATE_LIB_BASE_TOOL_INFO_H_

#include <string>
#include <vector>

namespace feedrate {

// The release. One place; MODULE.bazel and the bundle's name follow it.
inline constexpr char kVersion[] = "0.1.0";

struct ToolInfo {
  // The program's name, such as "plan".
  std::string name;
  // What it does, in one line without a full stop.
  std::string summary;
  // What follows the name in the usage line, such as "--config=FILE [flags]".
  std::string usage;
  // A few lines on what goes in, what comes out and what to know.
  std::string description;
  // Command lines that work when pasted.
  std::vector<std::string> examples;
  // True: arguments that are not flags are handed to the body.
  bool takes_arguments = false;
  // Source files whose flags belong to the program, matched at their end.
  // Flags of other libraries appear in --helpfull alone.
  std::vector<std::string> flag_files;
};

// A flag as help and completions show it.
struct ShownFlag {
  std::string name;
  // Stands for the value, such as "FILE". Empty for booleans.
  std::string placeholder;
  std::string description;
  // Values to choose from. Empty: free.
  std::vector<std::string> choices;
  std::string default_value;
  // Defined in the file of the shared overrides.
  bool shared = false;
};

// The program's own flags by name; with `all`, those of every library too.
//
// A flag's description has the form "FILE: what it is {a|b|c}". The word in
// capitals before the colon is the placeholder, the braces give the choices.
std::vector<ShownFlag> FlagsOf(const ToolInfo& info, bool all);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_BASE_TOOL_INFO_H_
