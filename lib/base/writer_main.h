// The frame of small programs that write a made-up data set into a folder.
#ifndef FEEDRATE_LIB_BASE_WRITER_MAIN_H_
#define FEEDRATE_LIB_BASE_WRITER_MAIN_H_

#include <functional>
#include <string>

#include "absl/status/status.h"

namespace feedrate {

struct WriterInfo {
  // The program's name, such as "write_episodes".
  std::string name;
  // What it writes, in a few words: "synthetic robot episodes".
  std::string what;
  // A few lines on what lies in the folder afterwards.
  std::string description;
  // What an example says beside the folder. May be empty.
  std::string example_flags;
  // A name for the example's folder.
  std::string example_folder;
  // The source file with the program's own flags.
  std::string flag_file;
};

// ToolMain with --folder, which must be there. `write` gets the folder once all
// flags are parsed, and makes it if it is missing.
int WriterMain(int argc, char** argv, const WriterInfo& info,
               const std::function<absl::Status(const std::string&)>& write);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_BASE_WRITER_MAIN_H_
