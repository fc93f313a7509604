// The texts in the cells of a table of aggregates.
#pragma once

#include <string>

#include "lib/analysis/aggregate/compare_groups.h"
#include "lib/records/summary.pb.h"

namespace feedrate {

// What people see of an aggregate's numbers: divided by `scale`, in `unit`.
struct Shown {
  double scale = 1;
  std::string unit;
};

// The unit of all groups: bytes as megabytes. REQUIRES: one unit.
Shown ShownUnit(const AggregateResult& result);
// ` in MB`, for captions.
std::string InUnit(const Shown& shown);

// A throughput, with about four digits.
std::string FourDigitsText(double value);
// Such as `1.25x`, and ` [1.10, 1.40]`.
std::string RatioText(double value);
std::string RatioRangeText(double low, double high);

// The text in the column of the median.
std::string Headline(const Aggregate& aggregate, const Shown& shown);
std::string IntervalText(const Aggregate& aggregate, const Shown& shown);
std::string ElsewhereText(const Aggregate& aggregate, const Shown& shown);
// A ratio only if the data separate the two; otherwise its interval.
std::string SpeedUpText(const SpeedUp& speed_up);
// What qualifies the numbers. `several`: whether the table has more than one
// library.
std::string NotesOf(const Aggregate& aggregate, bool several);
std::string RankText(const Aggregate& aggregate);
// How many runs were disturbed; empty if none was.
std::string DisturbedText(const Aggregate& aggregate);

}  // namespace feedrate
