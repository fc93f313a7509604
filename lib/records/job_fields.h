// What jobs and their rows have in common.
#ifndef FEEDRATE_LIB_RECORDS_JOB_FIELDS_H_
#define FEEDRATE_LIB_RECORDS_JOB_FIELDS_H_

#include "lib/records/records.pb.h"

namespace feedrate {

// A row with all that its job says of it, `dataset` with its id alone.
Row RowOfJob(const Job& job);

// The job that a row came from, to run it again. Without run indexes, and
// without labels that a run earns by how it went.
Job JobOfRow(const Row& row);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RECORDS_JOB_FIELDS_H_
