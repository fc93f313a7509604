// Of several attempts at a run the last one counts.
#ifndef FEEDRATE_LIB_ANALYSIS_LAST_ATTEMPTS_H_
#define FEEDRATE_LIB_ANALYSIS_LAST_ATTEMPTS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "lib/analysis/row_log.h"

namespace feedrate {

// Calls `superseded` for each row to which there is a later attempt, or an
// equal one that was measured later; of two that are equal in all of that the
// slower one counts. `is_duplicate`: the attempts are the same.
//
// Two bits a row find the few runs that may have several rows; only those are
// sorted.
void ForEachSuperseded(
    const std::vector<RowLog*>& logs,
    const std::function<void(size_t log, LoggedRow* row, bool is_duplicate)>&
        superseded);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_LAST_ATTEMPTS_H_
