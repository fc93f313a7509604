// The main function of small programs that write a synthetic data set into a
// folder.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"

namespace feedrate {

struct WriterInfo {
  // The program's name, such as "write_episodes".
  std::string name;
  // What it writes, such as "synthetic robot episodes".
  std::string what;
  // A few lines about what the folder contains afterwards.
  std::string description;
  // Flags of the example besides --folder. May be empty.
  std::string example_flags;
  // The folder in the example.
  std::string example_folder;
  // The source file that defines the program's own flags.
  std::string flag_file;
};

// ToolMain with a required flag --folder. Calls `write` with the folder after
// all flags are parsed; `write` creates the folder if it is missing.
int WriterMain(int argc, char** argv, const WriterInfo& info,
               const std::function<absl::Status(const std::string&)>& write);

}  // namespace feedrate
