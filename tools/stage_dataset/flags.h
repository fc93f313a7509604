// The command line of stage_dataset.
//
// Its own parser: this program links nothing but libc.
#ifndef FEEDRATE_TOOLS_STAGE_DATASET_FLAGS_H_
#define FEEDRATE_TOOLS_STAGE_DATASET_FLAGS_H_

#include <string>
#include <vector>

#include "lib/tar/stage/stage.h"
#include "lib/tar/status.h"

namespace feedrate {

struct Flags {
  tar::StageOptions options;
  bool json = false;
  bool help = false;
  bool version = false;
  std::string completion;  // The shell whose script is asked for.
};

// One flag, for completion.
struct FlagInfo {
  const char* name;
  bool takes_value;
  const char* text;
};

// All of them, in the order of the help.
std::vector<FlagInfo> FlagList();

// Reads the arguments after the program's name. Hyphens and underscores are the
// same in names; a value follows "=" or is the next argument.
tar::Status ParseFlags(const std::vector<std::string>& arguments, Flags* flags);

}  // namespace feedrate

#endif  // FEEDRATE_TOOLS_STAGE_DATASET_FLAGS_H_
