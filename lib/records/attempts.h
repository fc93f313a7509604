// Which attempt at a run counts: the cleanest one. Everything that reads rows
// uses this rule. And how to make another attempt.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/records/row.pb.h"

namespace feedrate {

// All statuses that rows have.
const std::vector<std::string>& RowStatuses();

// Whether a run with this status came to no result that could be compared:
// `failed`, `crashed`, `timeout`, `oom` or `diverged`.
bool IsFailure(absl::string_view status);

// How far an attempt is from a clean measurement: 0 for `ok` and undisturbed.
// A run may have several attempts: the one with the smallest rank counts; among
// equal ranks the last. More and stronger warnings rank higher; then follow
// runs without a timing (`early_stopped`, `unsupported`), then those that did
// not end. At most 32.
int AttemptRank(absl::string_view status,
                absl::Span<const std::string> warnings);
int AttemptRank(const Row& row);

// The row's warnings that make its timing unfit for a verdict: `contended`,
// `throttled`, `noisy`.
std::vector<std::string> DisturbancesOf(const Row& row);
std::vector<std::string> DisturbancesAmong(
    absl::Span<const std::string> warnings);

bool HasLabel(const Row& row, absl::string_view label);

// Whether a label says under which condition a row's speed holds, so that every
// table and chart must show it beside the number: `host_cpu`, `memory_limited`,
// `partly_cold`, `per_sample_loop`, `skipped_files`. What is `cold` or
// `exploratory` has tables of its own.
bool QualifiesSpeed(absl::string_view label);

// Whether the page cache had the row's data: `cold`, `warm`, or nothing if it
// had a part.
std::string PageCacheOf(const Row& row);

// A recorded command is text that anybody may have written, and people run what
// we print. So the functions below make commands anew: the name of one of our
// runners, never a path, and flags that name neither code nor programs nor
// files that are written, with values of plain characters.

// The words of a recorded command, ready for a shell. Empty if the program is
// no runner, or if it has a word that is not repeated.
std::vector<std::string> CheckedCommand(absl::Span<const std::string> command);

// A flag of a recorded command with its value, ready for a shell. Empty if it
// was not given, or is not repeated.
std::string FlagOf(absl::Span<const std::string> command,
                   absl::string_view flag);

// The command of a run, to measure some of its rows again: limited to their
// libraries and transforms if the run has a config, and without flags for where
// rows go. The words are ready for a shell. Empty as in CheckedCommand.
std::vector<std::string> CommandAgain(absl::Span<const std::string> command,
                                      absl::Span<const Row* const> rows);

}  // namespace feedrate
