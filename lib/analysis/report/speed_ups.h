// Who is fastest in a setting, and by how much, as far as the runs are
// evidence.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "lib/analysis/report/report_data.h"
#include "lib/draw/charts.h"
#include "lib/stats/winner.h"

namespace feedrate {

struct LineSpeedUp {
  std::string line;
  // Ratio of medians with its interval.
  Estimate ratio;
  // Empty if the interval excludes 1; else what would separate them.
  std::string tied;
  std::string hover;
};

// Speed-ups of one library over the reference.
struct LibrarySpeedUps {
  std::string library;
  // Its index in the setting's libraries.
  size_t column = 0;
  std::vector<LineSpeedUp> lines;
  // Geometric mean over `lines`, with an interval if there is one line, or
  // three or more.
  Estimate mean;
  // Whether the mean says anything: its interval excludes 1, or, without one,
  // all lines are separate on the same side.
  bool is_separate = false;
};

struct SpeedUps {
  std::string reference;
  std::vector<LibrarySpeedUps> libraries;
  // Number of pairs omitted because they are not known to do the same work.
  int left_out = 0;
  // Number of pairs omitted because their runs are too few or disturbed.
  int without_evidence = 0;
};

// Who is fastest in a line, by the rule of lib/stats/winner.h.
struct LineResult {
  // One per library.
  std::vector<Standing> standings;
  // The library that wins. Absent if none does.
  absl::optional<size_t> winner;
  // The winner's name, or why there is none. Empty if at most one library ran.
  std::string text;
};
LineResult ResultOf(const Setting& setting, size_t line, bool any_work);

// The answer of a line for people: who is fastest, by how much, how sure.
struct Answer {
  // A column of the setting: the winner, else the one with the highest median.
  size_t leader = 0;
  bool wins = false;
  // The fastest other one, of the same work if there is one. Absent if nobody
  // else ran.
  absl::optional<size_t> next;
  // Leader / next. 0 without one.
  Estimate ahead;
  // Such as "sure: 5 and 5 runs", "tied; 10 runs should separate them", or
  // alone "3 runs, 1 disturbed".
  std::string sure;
};
// None if nobody ran.
absl::optional<Answer> AnswerOf(const Setting& setting, size_t line,
                                bool any_work);

// Speed-ups over `reference`; empty means the library that ran the most lines.
// Compares only cells whose output is exact or equivalent, unless `any_work`.
// None if the reference is not in the setting or is the only library there.
absl::optional<SpeedUps> SpeedUpsOf(const Setting& setting,
                                    const std::string& reference,
                                    bool any_work);

}  // namespace feedrate
