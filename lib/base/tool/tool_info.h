// The description of a program, from which --help and shell completions are
// generated.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gflags/gflags.h"

namespace feedrate {

// The release. MODULE.bazel (dev/tests/module_test.py checks it) and the
// bundle's name have the same.
inline constexpr char kVersion[] = "0.1.0";

struct ToolInfo {
  // The program's name, such as "plan".
  std::string name;
  // What it does, in one line without a period.
  std::string summary;
  // The part of the usage line after the name, such as "--config=FILE [flags]".
  std::string usage;
  // A few lines about input, output and what else to know.
  std::string description;
  // Complete command lines that can be pasted into a shell.
  std::vector<std::string> examples;
  // If true, arguments that are not flags are passed to the body; otherwise
  // they are an error.
  bool takes_arguments = false;
  // If true, they are the files to read, and without one the body gets `-`,
  // standard input. A terminal there is an error, because nobody types records.
  bool reads_files = false;
  // Suffixes of the paths of the source files whose flags belong to the
  // program. Other flags appear only in --helpfull.
  std::vector<std::string> flag_files;
};

// Add this to ToolInfo::flag_files in a program that takes the flags that
// override a config.
inline constexpr char kOverrideFlagsFile[] = "lib/config/override_flags.cc";

// A flag as shown in help and completions.
struct ShownFlag {
  std::string name;
  // Placeholder for the value, such as "FILE". Empty for booleans.
  std::string placeholder;
  std::string description;
  // The values it can take. Empty means any.
  std::vector<std::string> choices;
  std::string default_value;
  // True if defined in override_flags.cc.
  bool shared = false;
};

ShownFlag DescribeFlag(const gflags::CommandLineFlagInfo& flag);

// Returns a number as gflags prints it, with 17 digits, in the few digits that
// most numbers need. Other text is returned as it is.
std::string ShortNumber(const std::string& text);

// Returns the program's own flags, sorted by name; with `all`, also those of
// every library.
//
// A flag's description has the form "FILE: what it is {a|b|c}". The capitalized
// word before the colon is the placeholder; the braces list the choices.
std::vector<ShownFlag> FlagsOf(const ToolInfo& info, bool all);

// Returns the text of --help: what the program does, examples, flags and exit
// codes. With `all`, also the flags of the libraries it uses.
std::string HelpText(const ToolInfo& info, bool all);

// Returns a shell script that completes the program's flags and their values.
// `shell` is `bash`, `zsh` or `fish`; others are InvalidArgument.
absl::StatusOr<std::string> CompletionScript(const ToolInfo& info,
                                             absl::string_view shell);

}  // namespace feedrate
