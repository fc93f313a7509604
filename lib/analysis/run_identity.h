// Which rows are attempts at the same run, and which of them counts: the one
// rule for everything that reads rows.
#ifndef FEEDRATE_LIB_ANALYSIS_RUN_IDENTITY_H_
#define FEEDRATE_LIB_ANALYSIS_RUN_IDENTITY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/records/records.pb.h"

namespace feedrate {

// Fields that, besides job_id and run_index, tell runs apart: the same job on
// another machine or other data is another run, and a duel runs its job once on
// each side of each pair. The library's version does so too, but see Attempt.
const std::vector<std::string>& SameRunFields();

// Equal for attempts at the same run. Empty for a row without a job: nothing is
// known of other attempts, so it always counts.
std::string RunIdentity(const Row& row);

// The later of two attempts has the larger one: attempt, then minute of
// `started_at` (JSON or plain).
uint32_t AttemptOrder(int64_t attempt, absl::string_view started_at);

struct Attempt {
  uint32_t order = 0;
  double throughput = 0;
  // Hash of the library's version. 0: a run that failed before it told, which
  // may be an attempt with any version.
  uint64_t version = 0;
  // Hash of anything else, to choose between rows that are equal so far.
  uint64_t content = 0;
  // The caller's own.
  size_t id = 0;
};
Attempt AttemptOf(const Row& row, size_t id);
uint64_t VersionHash(absl::string_view library_version, bool is_ok);

// Sorts rows of one identity and calls `replaced` for each that does not count,
// because there is a later attempt, or an equal one that was measured later; of
// two that are equal in all of that the slower one counts. `is_duplicate`: by a
// row of the same attempt. The same in whatever order they come.
void ForEachReplaced(
    absl::Span<Attempt> attempts,
    const std::function<void(size_t id, bool is_duplicate)>& replaced);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_RUN_IDENTITY_H_
