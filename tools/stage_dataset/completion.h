// Shell completion of stage_dataset's flags.
#ifndef FEEDRATE_TOOLS_STAGE_DATASET_COMPLETION_H_
#define FEEDRATE_TOOLS_STAGE_DATASET_COMPLETION_H_

#include <string>

#include "lib/tar/status.h"

namespace feedrate {

// The script for "bash", "zsh" or "fish".
tar::Status CompletionScript(const std::string& shell, std::string* script);

}  // namespace feedrate

#endif  // FEEDRATE_TOOLS_STAGE_DATASET_COMPLETION_H_
