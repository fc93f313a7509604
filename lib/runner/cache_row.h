// How much of a row's files the kernel had in memory.
#ifndef FEEDRATE_LIB_RUNNER_CACHE_ROW_H_
#define FEEDRATE_LIB_RUNNER_CACHE_ROW_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "lib/records/records.pb.h"

namespace feedrate {

// To be called before each timed part that reads `paths`. `cold`: has the
// kernel forget them first. Then looks how much of them is in memory, and keeps
// the largest share of all calls in `cache`. Of many files some are asked
// about, evenly.
absl::Status LookAtPages(const std::vector<std::string>& paths, bool cold,
                         Cache* cache);

// `cache` of a row, and its label: `cold` where that was asked for and no page
// was there, `partly_cold` where some were, or where some were missing though
// nobody asked for that.
void SetCache(const Cache& cache, bool cold, Row* row);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_CACHE_ROW_H_
