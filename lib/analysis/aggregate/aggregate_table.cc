#include "lib/analysis/aggregate/aggregate_table.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"
#include "lib/analysis/aggregate/aggregate.h"
#include "lib/analysis/rows/fields.h"
#include "lib/base/text.h"
#include "lib/draw/text.h"
#include "lib/records/json.h"
#include "lib/records/summary.pb.h"

namespace feedrate {
namespace {

GridCell Left(std::string text) { return {std::move(text), false, false}; }
GridCell Right(std::string text) { return {std::move(text), false, true}; }

std::string Full(double value) {
  std::string text;
  AppendJsonDouble(value, &text);
  return text;
}

// Two decimals, or two significant digits for small values.
std::string RatioNumber(double value) {
  if (value < 0.095 || !(value < 1e15)) return absl::StrFormat("%.2g", value);
  return absl::StrFormat("%.2f", value);
}

std::string Ratio(double value) {
  return absl::StrCat(RatioNumber(value), "x");
}

std::string RatioRange(double low, double high) {
  return absl::StrCat(" [", RatioNumber(low), ", ", RatioNumber(high), "]");
}

bool IsBest(const Aggregate& aggregate, double best_median) {
  if (!aggregate.has_median()) return false;
  return aggregate.has_rank() ? aggregate.rank() == 1
                              : aggregate.median() == best_median;
}

// The best median of each block that has more than one group.
std::map<std::string, double> BestMedians(
    const std::vector<Aggregate>& aggregates) {
  std::map<std::string, std::pair<int, double>> found;
  for (const Aggregate& aggregate : aggregates) {
    if (aggregate.by().count("library") == 0) continue;
    auto& [count, best] = found[BlockOf(aggregate)];
    ++count;
    if (aggregate.has_median()) best = std::max(best, aggregate.median());
  }
  std::map<std::string, double> best;
  for (const auto& [block, entry] : found) {
    if (entry.first > 1) best[block] = entry.second;
  }
  return best;
}

// The text in the column of the median.
std::string Headline(const Aggregate& aggregate) {
  if (aggregate.has_median()) return ShortNumber(aggregate.median());
  if (aggregate.status() == "early_stopped") return aggregate.slow_marker();
  return aggregate.status();
}

std::string IntervalText(const Aggregate& aggregate) {
  if (!aggregate.has_interval()) return "";
  return absl::StrCat("[", ShortNumber(aggregate.interval().low()), ", ",
                      ShortNumber(aggregate.interval().high()), "]");
}

std::string SpeedUpText(const SpeedUp& speed_up) {
  if (!speed_up.has_ratio()) return "";
  std::string text = Ratio(speed_up.ratio());
  if (speed_up.has_low()) {
    absl::StrAppend(&text, RatioRange(speed_up.low(), speed_up.high()));
  }
  return text;
}

std::string EndedText(const Aggregate& aggregate) {
  std::vector<std::string> parts;
  for (const EndedRuns& ended : aggregate.ended()) {
    parts.push_back(absl::StrCat(ended.runs(), " ", ended.status(),
                                 ended.reason().empty() ? "" : ": ",
                                 ended.reason()));
  }
  return absl::StrJoin(parts, "; ");
}

std::string NotesOf(const Aggregate& aggregate) {
  std::vector<std::string> notes;
  for (const std::string& flag : aggregate.flags()) {
    if (flag != "incomplete") notes.push_back(flag);
  }
  const std::string ended = EndedText(aggregate);
  if (!ended.empty()) notes.push_back(ended);
  if (aggregate.retries() > 0) {
    notes.push_back(absl::StrCat(
        aggregate.retries(), aggregate.retries() == 1 ? " retry" : " retries"));
  }
  if (!aggregate.speed_up().reason().empty() && aggregate.has_median()) {
    notes.push_back(absl::StrCat("no ratio: ", aggregate.speed_up().reason()));
  }
  return absl::StrJoin(notes, "; ");
}

std::string RankText(const Aggregate& aggregate) {
  if (!aggregate.has_rank()) return "";
  return absl::StrCat(aggregate.rank(), aggregate.tied() ? "=" : "");
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
    if (mean.rows() == 0) {
      absl::StrAppend(&note, "no row to compare");
    } else {
      absl::StrAppend(&note, "geometric mean ", Ratio(mean.ratio()));
      if (mean.has_low()) {
        absl::StrAppend(&note, RatioRange(mean.low(), mean.high()));
      }
      absl::StrAppend(&note, " over ", mean.rows(),
                      mean.rows() == 1 ? " row" : " rows");
    }
    if (mean.left_out() > 0) {
      absl::StrAppend(&note, ", ", mean.left_out(), " left out");
    }
    grid->notes.push_back(std::move(note));
  }
}

bool HasUnit(const AggregateResult& result) {
  return std::any_of(
      result.aggregates.begin(), result.aggregates.end(),
      [](const Aggregate& aggregate) { return !aggregate.unit().empty(); });
}

bool IsNumberColumn(const AggregateResult& result, const std::string& field) {
  return !result.aggregates.empty() &&
         std::all_of(result.aggregates.begin(), result.aggregates.end(),
                     [&](const Aggregate& aggregate) {
                       return NumberOrText(aggregate.by().at(field)).kind ==
                              Value::Kind::kNumber;
                     });
}

}  // namespace

std::string ShortNumber(double value) {
  const double size = std::abs(value);
  if (!(size < 1e15)) return absl::StrFormat("%.3g", value);
  if (size >= 1000 || size == 0) return absl::StrFormat("%.0f", value);
  if (size >= 100) return absl::StrFormat("%.1f", value);
  if (size >= 10) return absl::StrFormat("%.2f", value);
  if (size >= 1) return absl::StrFormat("%.3f", value);
  return absl::StrFormat("%.3g", value);
}

Grid PlainGrid(const AggregateResult& result,
               const std::vector<std::string>& by) {
  Grid grid;
  const bool ranked = std::any_of(
      result.aggregates.begin(), result.aggregates.end(),
      [](const Aggregate& aggregate) { return aggregate.has_rank(); });
  const bool compared = std::any_of(
      result.aggregates.begin(), result.aggregates.end(),
      [](const Aggregate& aggregate) { return aggregate.has_speed_up(); });
  std::vector<bool> numbers;
  for (const std::string& field : by) {
    numbers.push_back(IsNumberColumn(result, field));
    grid.header.push_back({field, false, numbers.back()});
  }
  grid.header.push_back(Right("n"));
  grid.header.push_back(Right("median"));
  if (HasUnit(result)) grid.header.push_back(Left("unit"));
  grid.header.push_back(Left("95% interval"));
  grid.header.push_back(Right("cv"));
  if (ranked) grid.header.push_back(Right("rank"));
  if (compared) grid.header.push_back(Left("speed-up"));
  grid.header.push_back(Left("notes"));
  const std::map<std::string, double> best = BestMedians(result.aggregates);
  for (const Aggregate& aggregate : result.aggregates) {
    std::vector<GridCell>& row = grid.rows.emplace_back();
    for (size_t i = 0; i < by.size(); ++i) {
      row.push_back({aggregate.by().at(by[i]), false, numbers[i]});
    }
    row.push_back(Right(absl::StrCat(aggregate.runs())));
    GridCell headline = Right(Headline(aggregate));
    const auto block = best.find(BlockOf(aggregate));
    headline.best = block != best.end() && IsBest(aggregate, block->second);
    row.push_back(std::move(headline));
    if (HasUnit(result)) {
      row.push_back(Left(aggregate.has_median() && !aggregate.unit().empty()
                             ? absl::StrCat(aggregate.unit(), "/s")
                             : ""));
    }
    row.push_back(Left(IntervalText(aggregate)));
    row.push_back(
        Right(aggregate.runs() > 1 ? PercentText(aggregate.cv()) : ""));
    if (ranked) row.push_back(Right(RankText(aggregate)));
    if (compared) row.push_back(Left(SpeedUpText(aggregate.speed_up())));
    row.push_back(Left(NotesOf(aggregate)));
  }
  AddMeans(result, &grid);
  return grid;
}

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
  std::vector<bool> numbers;
  for (const std::string& field : others) {
    numbers.push_back(IsNumberColumn(result, field));
    grid.header.push_back({field, false, numbers.back()});
  }
  for (const std::string& column : columns) {
    grid.header.push_back(Right(column));
  }
  const std::map<std::string, double> best = BestMedians(result.aggregates);
  for (const std::string& key : keys) {
    std::vector<GridCell>& row = grid.rows.emplace_back();
    const std::map<std::string, const Aggregate*>& found = cells[key];
    const Aggregate& first = *found.begin()->second;
    for (size_t i = 0; i < others.size(); ++i) {
      row.push_back({first.by().at(others[i]), false, numbers[i]});
    }
    for (const auto& [column, aggregate] : found) {
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
    for (const std::string& column : columns) {
      const auto cell = found.find(column);
      if (cell == found.end()) {
        row.push_back(Right(""));
        continue;
      }
      const Aggregate& aggregate = *cell->second;
      GridCell shown = Right(aggregate.speed_up().has_ratio()
                                 ? SpeedUpText(aggregate.speed_up())
                                 : Headline(aggregate));
      const auto block = best.find(BlockOf(aggregate));
      shown.best = block != best.end() && IsBest(aggregate, block->second);
      for (const std::string& flag : aggregate.flags()) {
        if (flag == "unstable") shown.text += "~";
      }
      row.push_back(std::move(shown));
    }
  }
  for (const Aggregate& aggregate : result.aggregates) {
    const auto& flags = aggregate.flags();
    if (std::find(flags.begin(), flags.end(), "unstable") != flags.end()) {
      grid.notes.push_back("~ unstable");
      break;
    }
  }
  std::map<std::string, int> reasons;
  for (const Aggregate& aggregate : result.aggregates) {
    for (const EndedRuns& ended : aggregate.ended()) {
      ++reasons[absl::StrCat(aggregate.by().at(pivot), ": ", ended.status(),
                             ended.reason().empty() ? "" : ": ",
                             ended.reason())];
    }
  }
  for (const auto& [reason, count] : reasons) {
    grid.notes.push_back(absl::StrCat(
        reason, count > 1 ? absl::StrCat(" (", count, " cells)") : ""));
  }
  AddMeans(result, &grid);
  return grid;
}

Grid FullGrid(const AggregateResult& result,
              const std::vector<std::string>& by) {
  Grid grid;
  for (const std::string& field : by) grid.header.push_back(Left(field));
  for (const char* name :
       {"status", "runs",      "median",      "mean",    "sd",    "cv",
        "min",    "max",       "low",         "high",    "p50_s", "p90_s",
        "p99_s",  "unit",      "equivalence", "rank",    "tied",  "relative_to",
        "ratio",  "ratio_low", "ratio_high",  "retries", "flags", "ended"}) {
    grid.header.push_back(Left(name));
  }
  for (const Aggregate& a : result.aggregates) {
    std::vector<GridCell>& row = grid.rows.emplace_back();
    const auto add = [&](std::string text) {
      row.push_back(Left(std::move(text)));
    };
    const auto number = [&](bool has, double value) {
      add(has ? Full(value) : "");
    };
    for (const std::string& field : by) add(a.by().at(field));
    add(a.status());
    add(absl::StrCat(a.runs()));
    number(a.has_median(), a.median());
    number(a.has_mean(), a.mean());
    number(a.has_sd(), a.sd());
    number(a.has_cv(), a.cv());
    number(a.has_min(), a.min());
    number(a.has_max(), a.max());
    number(a.has_interval(), a.interval().low());
    number(a.has_interval(), a.interval().high());
    number(a.has_p50_s(), a.p50_s());
    number(a.has_p90_s(), a.p90_s());
    number(a.has_p99_s(), a.p99_s());
    add(a.unit());
    add(a.equivalence());
    add(a.has_rank() ? absl::StrCat(a.rank()) : "");
    add(a.has_rank() ? (a.tied() ? "true" : "false") : "");
    add(a.speed_up().relative_to());
    number(a.speed_up().has_ratio(), a.speed_up().ratio());
    number(a.speed_up().has_low(), a.speed_up().low());
    number(a.speed_up().has_high(), a.speed_up().high());
    add(absl::StrCat(a.retries()));
    add(absl::StrJoin(a.flags(), " "));
    add(EndedText(a));
  }
  return grid;
}

namespace {

Table ToTable(const Grid& grid) {
  std::vector<std::string> header;
  std::vector<Align> align;
  for (const GridCell& cell : grid.header) {
    header.push_back(cell.text);
    align.push_back(cell.right_aligned ? Align::kRight : Align::kLeft);
  }
  Table table(std::move(header), std::move(align));
  for (const std::vector<GridCell>& row : grid.rows) {
    std::vector<std::string> cells;
    std::vector<bool> best;
    for (const GridCell& cell : row) {
      cells.push_back(cell.text);
      best.push_back(cell.best);
    }
    table.AddRow(std::move(cells), std::move(best));
  }
  return table;
}

template <typename Render>
std::string Joined(const std::vector<GridCell>& cells,
                   absl::string_view separator, const Render& render) {
  std::vector<std::string> texts;
  for (const GridCell& cell : cells) texts.push_back(render(cell));
  return absl::StrJoin(texts, separator);
}

std::string LatexCell(const GridCell& cell) {
  const std::string text = LatexText(cell.text);
  return cell.best ? absl::StrCat("\\textbf{", text, "}") : text;
}

// Appends a record as a JSON array element, without its newline.
void AppendElement(const google::protobuf::Message& record, bool first,
                   std::string* out) {
  if (!first) out->append(",\n");
  AppendRecord(record, out);
  out->pop_back();
}

}  // namespace

std::string RenderTable(const Grid& grid, bool color) {
  std::string text = ToTable(grid).ToText(color);
  for (const std::string& note : grid.notes) {
    absl::StrAppend(&text, PrintableText(note), "\n");
  }
  return text;
}

std::string RenderMarkdown(const Grid& grid) {
  std::string text = ToTable(grid).ToMarkdown();
  for (const std::string& note : grid.notes) {
    absl::StrAppend(&text, "\n", MarkdownText(note), "\n");
  }
  return text;
}

std::string RenderCsv(const Grid& grid) {
  const auto render = [](const GridCell& cell) { return CsvField(cell.text); };
  std::string text = Joined(grid.header, ",", render) + "\n";
  for (const std::vector<GridCell>& row : grid.rows) {
    absl::StrAppend(&text, Joined(row, ",", render), "\n");
  }
  return text;
}

std::string RenderLatex(const Grid& grid) {
  std::string text = "% \\usepackage{booktabs}\n";
  for (const std::string& note : grid.notes) {
    absl::StrAppend(&text, "% ", PrintableText(note), "\n");
  }
  text += "\\begin{tabular}{";
  for (const GridCell& cell : grid.header) {
    text += cell.right_aligned ? 'r' : 'l';
  }
  absl::StrAppend(&text, "}\n\\toprule\n",
                  Joined(grid.header, " & ", LatexCell), " \\\\\n\\midrule\n");
  for (const std::vector<GridCell>& row : grid.rows) {
    // An empty group: `[` or `*` after the end of a row would belong to it.
    absl::StrAppend(
        &text,
        absl::StartsWith(row[0].text, "[") || absl::StartsWith(row[0].text, "*")
            ? "{}"
            : "",
        Joined(row, " & ", LatexCell), " \\\\\n");
  }
  text += "\\bottomrule\n\\end{tabular}\n";
  return text;
}

std::string RenderJsonl(const AggregateResult& result) {
  std::string text;
  for (const Aggregate& aggregate : result.aggregates) {
    AppendRecord(aggregate, &text);
  }
  for (const MeanSpeedUp& mean : result.means) AppendRecord(mean, &text);
  return text;
}

std::string RenderJson(const AggregateResult& result) {
  std::string text = "{\"aggregates\":[\n";
  for (const Aggregate& aggregate : result.aggregates) {
    AppendElement(aggregate, &aggregate == result.aggregates.data(), &text);
  }
  text += "],\n\"mean_speed_ups\":[\n";
  for (const MeanSpeedUp& mean : result.means) {
    AppendElement(mean, &mean == result.means.data(), &text);
  }
  return text + "]}\n";
}

}  // namespace feedrate
