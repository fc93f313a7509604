// The job that a row came from, to run it again.
#ifndef FEEDRATE_LIB_GATE_JOB_OF_ROW_H_
#define FEEDRATE_LIB_GATE_JOB_OF_ROW_H_

#include "lib/records/records.pb.h"

namespace feedrate {

// Everything that rows and jobs have in common, `dataset` as its id.
Job JobOfRow(const Row& row);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_GATE_JOB_OF_ROW_H_
