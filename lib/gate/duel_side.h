// One side of a duel: its command, and what a run of it prints.
#ifndef FEEDRATE_LIB_GATE_DUEL_SIDE_H_
#define FEEDRATE_LIB_GATE_DUEL_SIDE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/gate/child.h"
#include "lib/records/records.pb.h"

namespace feedrate {

// The rows in what a command printed. Lines that are no records are passed
// over: a plain command may print anything. `broken` counts lines that look
// like records and are none.
std::vector<Row> RowsIn(const std::string& output, int* broken);

// `command` told to run only the jobs in `jobs_file`: `{jobs}` in it is
// replaced by `--jobs=FILE`, else that is put at its end. Without a file
// `{jobs}` goes away.
std::string CommandWithJobs(const std::string& command,
                            const std::string& jobs_file);

// The row that a plain command's run is: one sample, its wall time.
Row WallRow(const std::string& name, const ChildResult& result);

// The row that tells of a command that did not run to its end.
Row FailureRow(const std::string& name, const ChildResult& result);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_GATE_DUEL_SIDE_H_
