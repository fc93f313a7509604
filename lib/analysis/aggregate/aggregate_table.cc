#include "lib/analysis/aggregate/aggregate_table.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "lib/analysis/aggregate/cell_texts.h"
#include "lib/analysis/aggregate/compare_groups.h"
#include "lib/analysis/rows/fields.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/draw/text.h"
#include "lib/records/summary.pb.h"

namespace feedrate {
namespace {

GridCell Right(std::string text) { return {std::move(text), false, true}; }

std::string MetricOf(const AggregateResult& result) {
  return result.aggregates.empty() || result.aggregates[0].metric().empty()
             ? "throughput"
             : result.aggregates[0].metric();
}

void AddMeans(const AggregateResult& result, Grid* grid) {
  for (const MeanSpeedUp& mean : result.means) {
    std::vector<std::string> shared;
    std::map<std::string, std::string> by(mean.by().begin(), mean.by().end());
    for (const auto& entry : by) shared.push_back(entry.second);
    std::string note = absl::StrCat(
        mean.library(), " over ", mean.relative_to(),
        shared.empty() ? ""
                       : absl::StrCat(" (", absl::StrJoin(shared, " "), ")"),
        ": ");
    const std::string rows =
        absl::StrCat(mean.rows(), mean.rows() == 1 ? " row" : " rows");
    if (mean.rows() == 0) {
      absl::StrAppend(&note, "no row to compare");
    } else if (!mean.has_low()) {
      absl::StrAppend(&note, "no mean of ", rows, "; three show its interval");
    } else {
      const bool is_separate = mean.low() > 1 || mean.high() < 1;
      absl::StrAppend(&note, "geometric mean ",
                      is_separate ? RatioText(mean.ratio()) : "tied",
                      RatioRangeText(mean.low(), mean.high()), " over ", rows);
    }
    if (mean.left_out() > 0) {
      absl::StrAppend(&note, ", ", mean.left_out(), " left out");
    }
    grid->notes.push_back(std::move(note));
  }
}

// What the runs of `null` say about the harness.
void AddHarness(const AggregateResult& result, Grid* grid) {
  // The unit's costs in microseconds, and the number of runs.
  std::map<std::string, std::pair<std::vector<double>, int64_t>> by_unit;
  for (const Aggregate& aggregate : result.harness) {
    if (!(aggregate.median() > 0) || !aggregate.metric().empty()) continue;
    auto& [costs, runs] = by_unit[aggregate.unit()];
    costs.push_back(1e6 / aggregate.median());
    runs += aggregate.runs();
  }
  for (const auto& [unit, entry] : by_unit) {
    const auto [low, high] =
        std::minmax_element(entry.first.begin(), entry.first.end());
    const std::string least = FourDigitsText(*low);
    const std::string most = FourDigitsText(*high);
    grid->notes.push_back(
        absl::StrCat("harness cost (null rows): ", least,
                     least == most ? "" : absl::StrCat(" to ", most),
                     " µs per ", unit.empty() ? "item" : unit, ", ",
                     entry.second, entry.second == 1 ? " run" : " runs"));
  }
}

// Whether the numbers of some group have a property.
template <typename Has>
bool Any(const AggregateResult& result, const Has& has) {
  return std::any_of(result.aggregates.begin(), result.aggregates.end(), has);
}

const std::string& TextOf(const Aggregate& aggregate,
                          const std::string& field) {
  static const auto* const kNone = new std::string("-");
  const auto by = aggregate.by().find(field);
  if (by != aggregate.by().end()) return by->second;
  const auto held = aggregate.held().find(field);
  return held == aggregate.held().end() ? *kNone : held->second;
}

bool IsConstant(const AggregateResult& result, const std::string& field) {
  return !Any(result, [&](const Aggregate& aggregate) {
    return TextOf(aggregate, field) != TextOf(result.aggregates[0], field);
  });
}

// The fields that get a column: those of `by` that differ, and other fields
// that keep groups from being ranked together although they differ in nothing
// else. Never none.
std::vector<std::string> Columns(const AggregateResult& result,
                                 const std::vector<std::string>& by) {
  std::vector<std::string> columns;
  if (result.aggregates.empty()) return by;
  for (const std::string& field : by) {
    if (!IsConstant(result, field)) columns.push_back(field);
  }
  std::set<std::string> held;
  std::map<std::string, const Aggregate*> first;
  for (const Aggregate& aggregate : result.aggregates) {
    std::string key;
    for (const std::string& field : by) {
      if (MayRivalsDiffer(field)) continue;
      AppendKey(aggregate.by().at(field), &key);
    }
    const Aggregate& other = *first.emplace(key, &aggregate).first->second;
    if (!aggregate.has_median() || !other.has_median()) continue;
    for (const auto& [field, text] : aggregate.held()) {
      if (text != TextOf(other, field)) held.insert(field);
    }
  }
  held.erase("library_version");
  // Says nothing that dataset.id does not say to people.
  if (held.count("dataset.id") > 0) held.erase("dataset.sha256");
  columns.insert(columns.end(), held.begin(), held.end());
  if (columns.empty() && !by.empty()) {
    const auto library = std::find(by.begin(), by.end(), "library");
    columns.push_back(library == by.end() ? by[0] : *library);
  }
  return columns;
}

// What all groups share, such as `scenario image-rgb, device cpu`.
std::string Shared(const AggregateResult& result,
                   const std::vector<std::string>& by,
                   const std::vector<std::string>& columns) {
  std::vector<std::string> fields = by;
  fields.push_back("machine_profile");
  std::vector<std::string> shared;
  for (const std::string& field : fields) {
    if (result.aggregates.empty() || !IsConstant(result, field) ||
        std::find(columns.begin(), columns.end(), field) != columns.end() ||
        std::find(shared.begin(), shared.end(), field) != shared.end()) {
      continue;
    }
    const std::string& text = TextOf(result.aggregates[0], field);
    if (text == "-") continue;
    shared.push_back(absl::StrCat(
        field == "machine_profile" ? "machine" : field, " ", text));
  }
  return absl::StrJoin(shared, ", ");
}

// `ranks`, with what is the same for the libraries that are compared. Empty if
// none are.
std::string RanksText(const AggregateResult& result,
                      const std::vector<std::string>& columns,
                      absl::string_view ranks) {
  if (!Any(result, [](const Aggregate& a) { return a.rank_of() > 0; })) {
    return "";
  }
  std::vector<std::string> same;
  for (const std::string& field : columns) {
    if (!MayRivalsDiffer(field)) same.push_back(field);
  }
  return absl::StrCat(
      ranks,
      same.empty() ? ""
                   : absl::StrCat(" of the same ", absl::StrJoin(same, ", ")),
      Any(result,
          [](const Aggregate& a) {
            return a.rank_of() > 0 && a.equivalence().empty();
          })
          ? ", outputs were not compared"
          : "");
}

// The lines above a table: what the numbers are, what all rows share, and what
// was pooled.
void AddCaption(const AggregateResult& result,
                const std::vector<std::string>& by,
                const std::vector<std::string>& columns, std::string what,
                Grid* grid) {
  grid->caption.push_back(std::move(what));
  const std::string shared = Shared(result, by, columns);
  if (!shared.empty()) grid->caption.push_back(shared);
  std::map<std::string, int64_t> pooled;
  for (const Aggregate& aggregate : result.aggregates) {
    for (const auto& [field, values] : aggregate.pooled()) {
      pooled[field] = std::max(pooled[field], values);
    }
  }
  std::vector<std::string> parts;
  for (const auto& [field, values] : pooled) {
    parts.push_back(
        absl::StrCat(field, " (up to ", values, " values per group)"));
  }
  if (!parts.empty()) {
    grid->caption.push_back(
        absl::StrCat("Pooled on request, different work in one number: ",
                     absl::StrJoin(parts, ", ")));
  }
}

bool IsNumberColumn(const AggregateResult& result, const std::string& field) {
  return !result.aggregates.empty() &&
         !Any(result, [&](const Aggregate& aggregate) {
           return NumberOrText(TextOf(aggregate, field)).kind !=
                  Value::Kind::kNumber;
         });
}

}  // namespace

std::vector<AggregateResult> SplitByUnit(const AggregateResult& result) {
  std::map<std::string, AggregateResult> parts;
  for (const Aggregate& aggregate : result.aggregates) {
    if (aggregate.has_median()) parts[aggregate.unit()];
  }
  if (parts.size() < 2) return {result};
  for (const Aggregate& aggregate : result.aggregates) {
    const auto known = parts.find(aggregate.unit());
    (known == parts.end() ? parts.begin() : known)
        ->second.aggregates.push_back(aggregate);
  }
  std::vector<AggregateResult> split;
  for (auto& part : parts) split.push_back(std::move(part.second));
  split.back().means = result.means;
  split.back().harness = result.harness;
  return split;
}

std::vector<AggregateResult> SplitBySuite(const AggregateResult& result) {
  std::vector<AggregateResult> split;
  std::map<std::string, size_t> places;
  for (const Aggregate& aggregate : result.aggregates) {
    std::string key;
    for (const char* field : {"scenario", "mode", "scope"}) {
      const auto value = aggregate.by().find(field);
      if (value != aggregate.by().end()) {
        absl::StrAppend(&key, value->second, "\n");
      }
    }
    const auto [place, is_new] = places.emplace(key, split.size());
    if (is_new) split.emplace_back();
    split[place->second].aggregates.push_back(aggregate);
  }
  if (split.size() < 2) return {result};
  split.back().means = result.means;
  split.back().harness = result.harness;
  return split;
}

Grid PlainGrid(const AggregateResult& result,
               const std::vector<std::string>& by) {
  Grid grid;
  const bool ranked =
      Any(result, [](const Aggregate& a) { return a.rank_of() > 0; });
  const bool compared =
      Any(result, [](const Aggregate& a) { return a.has_speed_up(); });
  const bool noisy =
      Any(result, [](const Aggregate& a) { return a.disturbed() > 0; });
  const bool several =
      !result.aggregates.empty() && !IsConstant(result, "library");
  const Shown shown = ShownUnit(result);
  const std::vector<std::string> columns = Columns(result, by);
  std::vector<bool> numbers;
  for (const std::string& field : columns) {
    numbers.push_back(IsNumberColumn(result, field));
    grid.header.push_back({field, false, numbers.back()});
  }
  grid.key_columns = columns.size();
  grid.header.push_back(Right("n"));
  grid.header.push_back(Right(shown.unit.empty()
                                  ? "median"
                                  : absl::StrCat("median (", shown.unit, ")")));
  grid.header.push_back(LeftCell("95% interval"));
  const bool elsewhere =
      Any(result, [](const Aggregate& a) { return a.has_elsewhere(); });
  if (elsewhere) grid.header.push_back(LeftCell("95% elsewhere"));
  grid.header.push_back(Right("cv"));
  if (noisy) grid.header.push_back(Right("disturbed"));
  if (ranked) grid.header.push_back(LeftCell("rank"));
  if (compared) grid.header.push_back(LeftCell("speed-up"));
  grid.header.push_back(LeftCell(kNotesColumn));
  for (const Aggregate& aggregate : result.aggregates) {
    std::vector<GridCell>& row = grid.rows.emplace_back();
    for (size_t i = 0; i < columns.size(); ++i) {
      row.push_back({TextOf(aggregate, columns[i]), false, numbers[i]});
    }
    row.push_back(Right(absl::StrCat(aggregate.runs())));
    GridCell headline = Right(Headline(aggregate, shown));
    headline.best = aggregate.fastest();
    row.push_back(std::move(headline));
    row.push_back(LeftCell(IntervalText(aggregate, shown)));
    if (elsewhere) row.push_back(LeftCell(ElsewhereText(aggregate, shown)));
    row.push_back(
        Right(aggregate.runs() > 1 ? PercentText(aggregate.cv()) : ""));
    if (noisy) row.push_back(Right(DisturbedText(aggregate)));
    if (ranked) row.push_back(LeftCell(RankText(aggregate)));
    if (compared) row.push_back(LeftCell(SpeedUpText(aggregate.speed_up())));
    row.push_back(LeftCell(NotesOf(aggregate, several)));
  }
  std::string what = absl::StrCat("Median ", MetricOf(result), InUnit(shown));
  if (ranked) {
    absl::StrAppend(&what, "; ",
                    RanksText(result, columns, "ranks compare libraries"));
  }
  AddCaption(result, by, columns, std::move(what), &grid);
  AddMeans(result, &grid);
  AddHarness(result, &grid);
  return grid;
}

namespace {

constexpr char kNoRatio[] = "no ratio";

// The cell of a pivot: a median or, if `compared`, a ratio.
GridCell PivotCell(const Aggregate& aggregate, bool compared,
                   const Shown& shown) {
  if (!compared || !aggregate.has_median()) {
    return Right(Headline(aggregate, shown));
  }
  return Right(aggregate.speed_up().has_ratio()
                   ? SpeedUpText(aggregate.speed_up())
                   : kNoRatio);
}

// FailedPrecondition if the cells of a row differ in a field that must not be
// mixed.
absl::Status CheckRow(const std::map<std::string, const Aggregate*>& cells,
                      const std::string& pivot) {
  const Aggregate& first = *cells.begin()->second;
  for (const auto& [column, aggregate] : cells) {
    if (!aggregate->has_median() || !first.has_median()) continue;
    for (const auto& [name, text] : first.held()) {
      if (name == "library_version" && pivot == "library") continue;
      if (name == pivot) continue;
      const auto other = aggregate->held().find(name);
      const std::string its =
          other == aggregate->held().end() ? "-" : other->second;
      if (its == text) continue;
      return absl::FailedPreconditionError(absl::StrCat(
          "the row of ", first.by().at(pivot), " and ", column, " would set ",
          name, " \"", text, "\" beside \"", its,
          "\"; tell them apart with --by, choose one with --where, or allow "
          "it with --mix=",
          name));
    }
  }
  return absl::OkStatus();
}

bool HasFlag(const Aggregate& aggregate, absl::string_view flag) {
  const auto& flags = aggregate.flags();
  return std::find(flags.begin(), flags.end(), flag) != flags.end();
}

// A mark on the numbers of a pivot, which has no column for notes.
struct Footnote {
  const char* mark;
  const char* meaning;
  std::function<bool(const Aggregate&)> applies;
};

std::function<bool(const Aggregate&)> Flagged(const char* flag) {
  return [flag](const Aggregate& a) { return HasFlag(a, flag); };
}

std::function<bool(const Aggregate&)> Output(const char* label) {
  return [label](const Aggregate& a) {
    return a.has_median() && a.equivalence() == label;
  };
}

// ASCII, because not every LaTeX knows more.
const std::vector<Footnote>& Footnotes() {
  static const auto* const notes = new std::vector<Footnote>{
      {"~", "unstable", Flagged("unstable")},
      {"*", "has noisy, contended or throttled runs",
       [](const Aggregate& a) { return a.disturbed() > 0; }},
      {"!", "output differs from the reference (different)",
       Output("different")},
      {"=", "output is the input (noop)", Output("noop")},
      {"?", "output was not checked (unchecked)", Output("unchecked")},
      {"+", "called sample by sample (per_sample_loop)",
       Flagged("per_sample_loop")},
      {"#", "measured alone, for lack of memory (memory_limited)",
       Flagged("memory_limited")},
      {"@", "on the CPU of a GPU machine (host_cpu)", Flagged("host_cpu")},
      {"'", "some files were in the page cache (partly_cold)",
       Flagged("partly_cold")},
      {"&", "some files were skipped (skipped_files)",
       Flagged("skipped_files")}};
  return *notes;
}

// Sentences about cells without a number.
void AddPivotNotes(const AggregateResult& result, const std::string& pivot,
                   Grid* grid) {
  std::map<std::string, int> reasons;
  for (const Aggregate& aggregate : result.aggregates) {
    for (const EndedRuns& ended : aggregate.ended()) {
      ++reasons[absl::StrCat(aggregate.by().at(pivot), ": ", ended.status(),
                             ended.reason().empty() ? "" : ": ",
                             ended.reason())];
    }
    if (!aggregate.speed_up().reason().empty() && aggregate.has_median()) {
      ++reasons[absl::StrCat("no ratio: ", aggregate.speed_up().reason())];
    }
  }
  for (const auto& [reason, count] : reasons) {
    grid->notes.push_back(absl::StrCat(
        reason, count > 1 ? absl::StrCat(" (", count, " cells)") : ""));
  }
}

}  // namespace

absl::StatusOr<Grid> PivotGrid(const AggregateResult& result,
                               const std::vector<std::string>& by,
                               const std::string& pivot) {
  if (std::find(by.begin(), by.end(), pivot) == by.end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--pivot: \"", pivot, "\" is not in --by", DidYouMean(pivot, by)));
  }
  Grid grid;
  std::vector<std::string> others;
  for (const std::string& field : by) {
    if (field != pivot) others.push_back(field);
  }
  std::vector<std::string> columns;
  std::vector<std::string> keys;
  std::map<std::string, std::map<std::string, const Aggregate*>> cells;
  for (const Aggregate& aggregate : result.aggregates) {
    const std::string& column = aggregate.by().at(pivot);
    if (std::find(columns.begin(), columns.end(), column) == columns.end()) {
      columns.push_back(column);
    }
    std::string key;
    for (const std::string& field : others) {
      AppendKey(aggregate.by().at(field), &key);
    }
    if (cells.find(key) == cells.end()) keys.push_back(key);
    cells[key][column] = &aggregate;
  }
  // Sorts columns by value, not by first appearance.
  std::sort(columns.begin(), columns.end(),
            [](const std::string& a, const std::string& b) {
              return ValueLess(NumberOrText(a), NumberOrText(b));
            });
  // Constant fields are in the caption.
  std::vector<std::string> shown_fields;
  for (const std::string& field : others) {
    if (!IsConstant(result, field)) shown_fields.push_back(field);
  }
  if (shown_fields.empty() && !others.empty()) {
    shown_fields.push_back(others[0]);
  }
  std::vector<bool> numbers;
  for (const std::string& field : shown_fields) {
    numbers.push_back(IsNumberColumn(result, field));
    grid.header.push_back({field, false, numbers.back()});
  }
  grid.key_columns = shown_fields.size();
  for (const std::string& column : columns) {
    grid.header.push_back(Right(column));
  }
  const Shown shown = ShownUnit(result);
  const bool compared =
      Any(result, [](const Aggregate& a) { return a.has_speed_up(); });
  std::set<std::string> used;
  for (const std::string& key : keys) {
    std::vector<GridCell>& row = grid.rows.emplace_back();
    const std::map<std::string, const Aggregate*>& found = cells[key];
    RETURN_IF_ERROR(CheckRow(found, pivot));
    for (size_t i = 0; i < shown_fields.size(); ++i) {
      row.push_back(
          {found.begin()->second->by().at(shown_fields[i]), false, numbers[i]});
    }
    for (const std::string& column : columns) {
      const auto cell = found.find(column);
      if (cell == found.end()) {
        row.push_back(Right(""));
        continue;
      }
      const Aggregate& aggregate = *cell->second;
      GridCell text = PivotCell(aggregate, compared, shown);
      text.best = aggregate.fastest();
      for (const Footnote& note : Footnotes()) {
        if (note.applies(aggregate) && text.text != kNoRatio) {
          text.text += note.mark;
          used.insert(note.mark);
        }
      }
      row.push_back(std::move(text));
    }
  }
  std::string what;
  if (compared) {
    what = absl::StrCat("Speed-up over ",
                        result.aggregates[0].speed_up().relative_to(),
                        " (ratio of median throughputs) by ", pivot);
  } else {
    what =
        absl::StrCat("Median ", MetricOf(result), InUnit(shown), " by ", pivot);
  }
  std::vector<std::string> all = shown_fields;
  all.push_back(pivot);
  AddCaption(result, by, all, std::move(what), &grid);
  grid.best_means =
      RanksText(result, all, "the runs prove it the fastest of the libraries");
  for (const Footnote& note : Footnotes()) {
    if (used.count(note.mark) == 0) continue;
    grid.footnotes.push_back(absl::StrCat(note.mark, " ", note.meaning));
  }
  AddPivotNotes(result, pivot, &grid);
  AddMeans(result, &grid);
  AddHarness(result, &grid);
  return grid;
}

}  // namespace feedrate
