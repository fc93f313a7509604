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
};

// Reads the arguments after the program's name. Hyphens and underscores are the
// same in names; a value follows "=" or is the next argument.
tar::Status ParseFlags(const std::vector<std::string>& arguments, Flags* flags);

}  // namespace feedrate

#endif  // FEEDRATE_TOOLS_STAGE_DATASET_FLAGS_H_
