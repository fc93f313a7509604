// Of several attempts at a run the last one counts.
#ifndef FEEDRATE_LIB_ANALYSIS_LAST_ATTEMPTS_H_
#define FEEDRATE_LIB_ANALYSIS_LAST_ATTEMPTS_H_

#include <cstddef>
#include <functional>
#include <vector>

#include "lib/analysis/row_log.h"

namespace feedrate {

// Calls `replaced` for each row that does not count, as lib/analysis/
// run_identity.h says. Rows are told apart by 64-bit hashes of their identity.
//
// Two and a half bytes a row find the few runs that may have several rows; only
// those are sorted. `threads` share the search; the calls come from one.
void ForEachReplacedRow(const std::vector<RowLog*>& logs, size_t threads,
                        const std::function<void(size_t log, LoggedRow* row,
                                                 bool is_duplicate)>& replaced);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_LAST_ATTEMPTS_H_
