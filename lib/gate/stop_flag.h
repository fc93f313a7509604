// Ctrl-C and SIGTERM as a flag to look at.
#ifndef FEEDRATE_LIB_GATE_STOP_FLAG_H_
#define FEEDRATE_LIB_GATE_STOP_FLAG_H_

namespace feedrate {

// From now on SIGINT and SIGTERM set a flag in place of ending the process.
void CatchStopSignals();

// Whether one came.
bool IsStopped();

}  // namespace feedrate

#endif  // FEEDRATE_LIB_GATE_STOP_FLAG_H_
