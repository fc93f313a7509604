#include "lib/analysis/report/report_data.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "lib/analysis/rows/fields.h"
#include "lib/base/text.h"
#include "lib/draw/charts.h"
#include "lib/draw/text.h"
#include "lib/planning/jobs.h"
#include "lib/records/attempts.h"
#include "lib/records/row.pb.h"
#include "lib/stats/quantiles.h"
#include "lib/stats/summary.h"
#include "lib/stats/winner.h"

namespace feedrate {
namespace {

// The machine, and how much of it a run could use.
std::string MachineOf(const Row& row) {
  return row.has_usable_cpus()
             ? absl::StrCat(row.machine_profile(), ", ",
                            Counted(row.usable_cpus(), "processor"))
             : row.machine_profile();
}

// Sorts tables by scenario, transform, settings, library. As long as the row.
using Text = absl::string_view;
using CellKey =
    std::tuple<Text, Text, Text, int64_t, int32_t, int32_t, Text, Text, Text,
               int32_t, Text, Text, bool, bool, Text, Text>;

CellKey KeyOf(const Row& row) {
  return CellKey(row.scenario(), row.mode(), row.transform(), row.num_items(),
                 row.batch_size(), row.workers(), row.library(), row.job_id(),
                 row.machine_profile(),
                 row.has_usable_cpus() ? row.usable_cpus() : -1,
                 row.library_version(), row.dataset().sha256(),
                 HasLabel(row, "exploratory"), HasLabel(row, "cold"),
                 row.pair().side(), row.pair().contest());
}

int RankOf(const std::string& status) {
  if (status == "ok") return 3;
  if (AnswersForAllRuns(status)) return 2;
  return 1;
}

void RaiseTo(double value, absl::optional<double>* peak) {
  *peak = std::max(value, peak->value_or(value));
}

void AddRow(const Row& row, ReportCell* cell, std::vector<double>* of_limits) {
  ++cell->runs;
  if (cell->status.empty() || RankOf(row.status()) > RankOf(cell->status)) {
    cell->status = row.status();
    cell->reason = row.reason();
    cell->example = row;
  }
  if (!IsDone(row.status())) ++cell->failed_runs;
  if (row.status() == "ok") {
    cell->throughputs.push_back(row.throughput());
    cell->disturbed += DisturbancesOf(row).empty() ? 0 : 1;
    if (row.has_of_limit()) of_limits->push_back(row.of_limit());
  }
  for (const std::string& warning : row.warnings()) ++cell->warnings[warning];
  cell->labels.insert(row.labels().begin(), row.labels().end());
  if (row.has_rss_peak_bytes()) {
    RaiseTo(row.rss_peak_bytes(), &cell->rss_peak_bytes);
  }
  if (row.has_gpu_memory()) {
    RaiseTo(row.gpu_memory().peak_allocated_bytes(), &cell->gpu_peak_bytes);
  }
}

}  // namespace

Estimate ReportCell::Throughput() const {
  return {summary->median, WhiskersOf(summary->interval)};
}

bool ReportCell::IsUnstable() const {
  return summary.has_value() && summary->cv > kUnstableCv;
}

Contestant ReportCell::AsContestant(bool any_work) const {
  Contestant contestant;
  contestant.summary = *summary;
  contestant.disturbed = disturbed;
  if (!any_work) contestant.work = WorkOfLabel(example.equivalence().label());
  return contestant;
}

std::string ReportCell::Text() const {
  if (summary.has_value()) return SignificantText(summary->median);
  if (status == "early_stopped") {
    return absl::StrCat("≤ ", SignificantText(example.throughput()));
  }
  return status;
}

std::string ReportCell::Remarks() const {
  std::vector<std::string> remarks;
  const std::string& output = example.equivalence().label();
  if (summary.has_value() && WorkOfLabel(output) == Work::kOther) {
    remarks.push_back(absl::StrCat("output ", output));
  }
  for (const std::string& label : labels) {
    if (QualifiesSpeed(label)) remarks.push_back(label);
  }
  return absl::StrJoin(remarks, ", ");
}

std::string ReportCell::TextWithRemarks() const {
  const std::string remarks = Remarks();
  return remarks.empty() ? Text() : absl::StrCat(Text(), " (", remarks, ")");
}

std::string ReportCell::Story() const {
  std::string text = absl::StrCat(example.library(),
                                  example.library_version().empty() ? "" : " ",
                                  example.library_version());
  if (!example.transform().empty()) {
    absl::StrAppend(&text, ", ", example.transform());
  }
  absl::StrAppend(&text, "\n");
  if (summary.has_value()) {
    absl::StrAppend(&text, "median ", SignificantText(summary->median, 4), " ",
                    example.unit(), "/s, ", summary->n,
                    summary->n == 1 ? " run" : " runs");
    if (summary->interval.has_value()) {
      absl::StrAppend(&text, "\n95% interval ",
                      SignificantText(summary->interval->low, 4), " to ",
                      SignificantText(summary->interval->high, 4));
    } else {
      absl::StrAppend(&text, "\nno interval: fewer than ", kMinRunsForInterval,
                      " runs");
    }
    if (summary->n > 1) {
      absl::StrAppend(&text, "\nspread over runs ", PercentText(summary->cv),
                      IsUnstable() ? " (unstable)" : "");
    }
  } else {
    absl::StrAppend(&text, status, reason.empty() ? "" : ": ", reason);
  }
  if (!example.equivalence().label().empty()) {
    absl::StrAppend(&text, "\noutput: ", example.equivalence().label());
  }
  for (const std::string& label : labels) absl::StrAppend(&text, "\n", label);
  for (const auto& warning : warnings) {
    absl::StrAppend(&text, "\n", warning.first, " in ", warning.second, " of ",
                    runs, " runs");
  }
  return text;
}

std::string LibraryOf(const Row& row) {
  if (!row.library().empty()) return row.library();
  return row.has_pair() ? absl::AsciiStrToUpper(row.pair().side()) : "unnamed";
}

std::string SettingOf(const Row& row) {
  std::vector<std::string> parts = {
      absl::StrCat("workers=", row.workers()),
      absl::StrCat("batch_size=", row.batch_size())};
  const std::map<std::string, std::string> settings(row.settings().begin(),
                                                    row.settings().end());
  for (const auto& setting : settings) {
    parts.push_back(absl::StrCat(setting.first, "=", setting.second));
  }
  return absl::StrJoin(parts, ", ");
}

std::vector<ReportCell> CellsOf(const std::vector<Row>& rows) {
  std::map<CellKey, std::pair<ReportCell, std::vector<double>>> by_key;
  for (const Row& row : rows) {
    auto& place = by_key[KeyOf(row)];
    AddRow(row, &place.first, &place.second);
  }
  std::vector<ReportCell> cells;
  for (auto& entry : by_key) {
    ReportCell& cell = entry.second.first;
    if (!cell.throughputs.empty()) {
      std::vector<double> values = cell.throughputs;
      cell.summary = Summarize(absl::MakeSpan(values));
    }
    if (!entry.second.second.empty()) {
      cell.of_limit = Median(entry.second.second);
    }
    cells.push_back(std::move(cell));
  }
  return cells;
}

absl::optional<Whiskers> WhiskersOf(const absl::optional<Interval>& interval) {
  if (!interval.has_value()) return absl::nullopt;
  return Whiskers{interval->low, interval->high};
}

Estimate RatioOf(const ReportCell& a, const ReportCell& b,
                 const Separation& separation) {
  return {a.summary->median / b.summary->median, WhiskersOf(separation.ratio)};
}

namespace {

constexpr const char* kModeOrder[] = {"pipeline", "mixture", "train", "decode",
                                      "micro"};

int OrderOf(const std::string& mode) {
  const auto place =
      std::find(std::begin(kModeOrder), std::end(kModeOrder), mode);
  return static_cast<int>(place - std::begin(kModeOrder));
}

// What is equal within a table.
using TableKey = std::tuple<int, std::string, std::string, std::string,
                            std::string, std::string, std::string, std::string,
                            std::string, std::string, std::string, bool, bool>;

TableKey TableKeyOf(const ReportCell& cell) {
  const Row& row = cell.example;
  return TableKey(OrderOf(row.mode()), row.mode(), row.scenario(), row.scope(),
                  row.device(), MachineOf(row), row.thread_policy(),
                  row.params_profile(), row.env_set(), row.dataset().id(),
                  row.dataset().sha256(), cell.labels.count("cold") > 0,
                  cell.labels.count("exploratory") > 0);
}

// The axes that the cell sets, and their values.
std::vector<std::pair<std::string, std::string>> AxesOf(
    const ReportCell& cell) {
  std::vector<std::pair<std::string, std::string>> axes;
  for (const char* const axis : {"num_items", "batch_size", "workers"}) {
    axes.emplace_back(axis, Setting::AxisValue(cell, axis));
  }
  const auto& settings = cell.example.settings();
  const std::map<std::string, std::string> sorted(settings.begin(),
                                                  settings.end());
  axes.insert(axes.end(), sorted.begin(), sorted.end());
  return axes;
}

// Each cell sets few of the axes, and there may be thousands of them.
std::vector<std::string> SweptAxes(
    const std::vector<const ReportCell*>& cells) {
  struct Axis {
    std::string first;
    size_t cells = 0;
    bool differs = false;
  };
  std::map<std::string, Axis> axes;
  std::vector<std::string> order;
  for (const ReportCell* cell : cells) {
    for (const auto& [name, value] : AxesOf(*cell)) {
      Axis& axis = axes[name];
      if (++axis.cells == 1) {
        order.push_back(name);
        axis.first = value;
      }
      axis.differs |= value != axis.first;
    }
  }
  std::vector<std::string> swept;
  for (const std::string& name : order) {
    const Axis& axis = axes[name];
    const bool some_unset = axis.cells < cells.size() && !axis.first.empty();
    if (axis.differs || some_unset) swept.push_back(name);
  }
  return swept;
}

// With more axes than this, a point names those alone that it sets.
constexpr size_t kMostNamed = 20;

// The axes' numbers, by name.
using AxisNumbers = std::map<std::string, size_t>;

std::string PointOf(const ReportCell& cell,
                    const std::vector<std::string>& swept,
                    const AxisNumbers& numbers) {
  if (swept.empty()) return "";
  std::vector<std::string> parts;
  const auto add = [&parts](const std::string& axis, const std::string& value) {
    parts.push_back(absl::StrCat(axis, "=", value));
  };
  if (swept.size() <= kMostNamed) {
    for (const std::string& axis : swept) {
      add(axis, Setting::AxisValue(cell, axis));
    }
  } else {
    for (const auto& [axis, value] : AxesOf(cell)) {
      if (numbers.count(axis) > 0) add(axis, value);
    }
  }
  return parts.empty() ? "no setting" : absl::StrJoin(parts, ", ");
}

// The place of a cell in a table: its transform, then numbers by size, so that
// workers=10 comes after workers=2. What is not set comes behind numbers.
struct PointOrder {
  struct Value {
    size_t axis = 0;
    double number = 0;
    std::string text;
  };

  PointOrder(const ReportCell* of, const AxisNumbers& numbers) : cell(of) {
    for (const auto& [name, value] : AxesOf(*of)) {
      const auto axis = numbers.find(name);
      if (axis == numbers.end() || value.empty()) continue;
      double number = 0;
      const bool is_number =
          absl::SimpleAtod(value, &number) && std::isfinite(number);
      values.push_back({axis->second, is_number ? number : kNoNumber,
                        is_number ? "" : value});
    }
    absl::c_sort(
        values, [](const Value& a, const Value& b) { return a.axis < b.axis; });
  }

  bool operator<(const PointOrder& other) const {
    const int transforms =
        cell->example.transform().compare(other.cell->example.transform());
    if (transforms != 0) return transforms < 0;
    const auto before = [](const Value& a, const Value& b) {
      return std::tie(a.number, a.text) < std::tie(b.number, b.text);
    };
    const Value unset = {0, kNoNumber, ""};
    auto a = values.begin();
    auto b = other.values.begin();
    while (a != values.end() || b != other.values.end()) {
      const bool has_a =
          a != values.end() && (b == other.values.end() || a->axis <= b->axis);
      const bool has_b =
          b != other.values.end() && (a == values.end() || b->axis <= a->axis);
      const Value& mine = has_a ? *a : unset;
      const Value& theirs = has_b ? *b : unset;
      if (before(mine, theirs)) return true;
      if (before(theirs, mine)) return false;
      a += has_a;
      b += has_b;
    }
    return false;
  }

  static constexpr double kNoNumber = 1e300;
  const ReportCell* cell;
  std::vector<Value> values;
};

void SortByPoint(const AxisNumbers& numbers,
                 std::vector<const ReportCell*>* cells) {
  std::vector<PointOrder> order;
  for (const ReportCell* const cell : *cells) order.emplace_back(cell, numbers);
  absl::c_stable_sort(order);
  for (size_t i = 0; i < order.size(); ++i) (*cells)[i] = order[i].cell;
}

}  // namespace

std::string IdFrom(absl::string_view text, absl::string_view also) {
  std::string id;
  for (const char c : text) {
    if (absl::ascii_isalnum(c) || absl::StrContains(also, c)) {
      id += absl::ascii_tolower(c);
    } else if (!id.empty() && id.back() != '-') {
      id += '-';
    }
  }
  // File systems allow 255 bytes, and a name may have two of these.
  constexpr size_t kLongest = 80;
  if (id.size() > kLongest) id.resize(kLongest);
  while (!id.empty() && id.back() == '-') id.pop_back();
  return id.empty() ? "unnamed" : id;
}

std::string NewId(const std::string& id, int first,
                  std::set<std::string>* used) {
  std::string numbered = first == 0 ? id : absl::StrCat(id, "-", first);
  for (int i = std::max(2, first + 1); !used->insert(numbered).second; ++i) {
    numbered = absl::StrCat(id, "-", i);
  }
  return numbered;
}

namespace {

std::string DescriptionOf(const Row& row, const std::vector<std::string>& swept,
                          const std::set<std::string>& labels) {
  std::vector<std::string> parts;
  const auto fixed = [&](const std::string& axis) {
    return std::find(swept.begin(), swept.end(), axis) == swept.end();
  };
  parts.push_back(absl::StrCat("Machine `", MachineOf(row), "`"));
  if (row.num_items() > 0 && fixed("num_items")) {
    parts.push_back(absl::StrCat(row.num_items(), " items"));
  }
  if (row.batch_size() > 0 && fixed("batch_size")) {
    parts.push_back(absl::StrCat("batches of ", row.batch_size()));
  }
  if (row.mode() == "pipeline" && fixed("workers")) {
    parts.push_back(absl::StrCat(row.workers(), " workers"));
  }
  if (!row.dataset().id().empty()) {
    parts.push_back(absl::StrCat("data `", row.dataset().id(), "`"));
  }
  if (!row.thread_policy().empty()) {
    parts.push_back(absl::StrCat("threads `", row.thread_policy(), "`"));
  }
  if (!row.params_profile().empty()) {
    parts.push_back(absl::StrCat("parameters `", row.params_profile(), "`"));
  }
  if (!row.env_set().empty()) {
    parts.push_back(absl::StrCat("versions `", row.env_set(), "`"));
  }
  if (!labels.empty()) {
    parts.push_back(absl::StrCat("labels ", absl::StrJoin(labels, ", ")));
  }
  return absl::StrCat(absl::StrJoin(parts, "; "), ".");
}

// The column's name: "kornia", or "kornia 0.8.2" if there are several versions.
// Sides `a` and `b` of a duel have separate columns.
std::string ColumnOf(const ReportCell& cell,
                     const std::map<std::string, std::set<std::string>>& all) {
  const Row& row = cell.example;
  std::string name = LibraryOf(row);
  if (all.at(row.library()).size() > 1) {
    absl::StrAppend(&name, " ", row.library_version());
  }
  if (row.has_pair() && !row.library().empty()) {
    absl::StrAppend(&name, " (", row.pair().side(), ")");
  }
  if (row.pair().has_contest()) {
    absl::StrAppend(&name, " [", row.pair().contest(), "]");
  }
  return name;
}

Setting MakeSetting(std::vector<const ReportCell*> cells,
                    const std::set<std::string>& all_libraries) {
  Setting setting;
  setting.swept = SweptAxes(cells);
  AxisNumbers numbers;
  for (const std::string& axis : setting.swept) {
    numbers.emplace(axis, numbers.size());
  }
  SortByPoint(numbers, &cells);
  std::map<std::string, std::set<std::string>> versions;
  std::set<std::string> labels;
  for (const ReportCell* cell : cells) {
    versions[cell->example.library()].insert(cell->example.library_version());
    labels.insert(cell->labels.begin(), cell->labels.end());
  }
  std::map<std::string, std::string> columns;
  for (const ReportCell* cell : cells) {
    columns[ColumnOf(*cell, versions)] = cell->example.library();
  }
  for (const auto& column : columns) {
    setting.libraries.push_back(column.first);
    // Two versions of a library must have different colors, even though a
    // library then has different colors in different settings.
    setting.colors.push_back(static_cast<int>(
        columns.size() > versions.size()
            ? setting.colors.size()
            : std::distance(all_libraries.begin(),
                            all_libraries.find(column.second))));
  }
  for (const ReportCell* cell : cells) {
    const Setting::Line line{cell->example.transform(),
                             PointOf(*cell, setting.swept, numbers)};
    if (setting.lines.empty() || !(setting.lines.back() == line)) {
      setting.lines.push_back(line);
    }
    const size_t column =
        std::distance(columns.begin(), columns.find(ColumnOf(*cell, versions)));
    setting.cells[{setting.lines.size() - 1, column}] = cell;
  }
  const Row& row = cells.front()->example;
  setting.example = row;
  setting.mode = row.mode();
  setting.unit = row.unit().empty() ? "item" : row.unit();
  std::vector<std::string> words;
  for (const std::string& word : {row.scenario(), row.scope(), row.device()}) {
    if (!word.empty()) words.push_back(word);
  }
  // A plain command of a duel has none of them.
  setting.title = words.empty() ? row.mode() : absl::StrJoin(words, ", ");
  setting.id = IdFrom(absl::StrCat(row.mode(), " ", setting.title));
  setting.description = DescriptionOf(row, setting.swept, labels);
  return setting;
}

// What the titles of settings do not say, but may differ between them.
std::vector<std::string> DistinctionsOf(const Row& row) {
  return {row.machine_profile(),
          row.dataset().id(),
          row.thread_policy(),
          row.params_profile(),
          row.env_set(),
          row.dataset().sha256().substr(0, 8),
          HasLabel(row, "cold") ? "cold" : "",
          HasLabel(row, "exploratory") ? "exploratory" : ""};
}

void TellApart(const std::vector<Setting*>& settings) {
  const size_t parts = DistinctionsOf(settings[0]->example).size();
  for (size_t i = 0; i < parts; ++i) {
    std::set<std::string> values;
    std::set<std::string> known;
    for (const Setting* setting : settings) {
      values.insert(DistinctionsOf(setting->example)[i]);
      known.insert(setting->title);
    }
    if (known.size() == settings.size()) return;
    if (values.size() < 2) continue;
    for (Setting* setting : settings) {
      const std::string value = DistinctionsOf(setting->example)[i];
      if (!value.empty()) absl::StrAppend(&setting->title, ", ", value);
    }
  }
}

}  // namespace

std::string Setting::Line::Name() const {
  if (point.empty()) return transform;
  if (transform.empty()) return point;
  return absl::StrCat(transform, ", ", point);
}

const ReportCell* Setting::Find(size_t line, size_t library) const {
  const auto place = cells.find({line, library});
  return place == cells.end() ? nullptr : place->second;
}

std::string Setting::AxisValue(const ReportCell& cell,
                               const std::string& axis) {
  const Row& row = cell.example;
  if (axis == "num_items") return absl::StrCat(row.num_items());
  if (axis == "batch_size") return absl::StrCat(row.batch_size());
  if (axis == "workers") return absl::StrCat(row.workers());
  const auto setting = row.settings().find(axis);
  return setting == row.settings().end() ? "" : setting->second;
}

std::vector<Setting> SettingsOf(const std::vector<ReportCell>& cells) {
  std::map<TableKey, std::vector<const ReportCell*>> groups;
  std::set<std::string> libraries;
  for (const ReportCell& cell : cells) {
    if (cell.example.library() == kNullLibrary) continue;
    groups[TableKeyOf(cell)].push_back(&cell);
    libraries.insert(cell.example.library());
  }
  std::vector<Setting> settings;
  std::map<std::string, int> titles;
  for (auto& group : groups) {
    settings.push_back(MakeSetting(std::move(group.second), libraries));
    ++titles[settings.back().id];
  }
  // Settings with equal titles get what tells them apart. Ids must be unique.
  std::set<std::string> used;
  for (const auto& [id, count] : titles) {
    if (count == 1) used.insert(id);
  }
  std::map<std::string, std::vector<Setting*>> alike;
  for (Setting& setting : settings) {
    if (titles[setting.id] < 2) continue;
    alike[setting.id].push_back(&setting);
    setting.id = NewId(setting.id, 1, &used);
  }
  for (const auto& [id, group] : alike) TellApart(group);
  return settings;
}

}  // namespace feedrate
