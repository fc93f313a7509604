// Names for starts of a runner.
#ifndef FEEDRATE_LIB_RUNNER_NEW_RUN_ID_H_
#define FEEDRATE_LIB_RUNNER_NEW_RUN_ID_H_

#include <string>

namespace feedrate {

// 32 hexadecimal digits that nobody has had before.
std::string NewRunId();

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_NEW_RUN_ID_H_
