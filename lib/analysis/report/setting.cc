#include "lib/analysis/report/setting.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/analysis/report/cell.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

constexpr char kNullLibrary[] = "null";
constexpr const char* kModeOrder[] = {"pipeline", "mixture", "train", "decode",
                                      "micro"};

int OrderOf(const std::string& mode) {
  const auto place =
      std::find(std::begin(kModeOrder), std::end(kModeOrder), mode);
  return static_cast<int>(place - std::begin(kModeOrder));
}

// What must be equal within a table.
using Key = std::tuple<int, std::string, std::string, std::string, std::string,
                       std::string, std::string, std::string, std::string,
                       std::string, std::string, bool, bool>;

Key KeyOf(const ReportCell& cell) {
  const Row& row = cell.example;
  return Key(OrderOf(row.mode()), row.mode(), row.scenario(), row.scope(),
             row.device(), row.machine_profile(), row.thread_policy(),
             row.params_profile(), row.env_set(), row.dataset().id(),
             row.dataset().sha256(), cell.labels.count("cold") > 0,
             cell.labels.count("exploratory") > 0);
}

std::vector<std::string> AxesOf(const ReportCell& cell) {
  std::set<std::string> settings;
  for (const auto& setting : cell.example.settings()) {
    settings.insert(setting.first);
  }
  std::vector<std::string> axes = {"num_items", "batch_size", "workers"};
  axes.insert(axes.end(), settings.begin(), settings.end());
  return axes;
}

std::vector<std::string> SweptAxes(
    const std::vector<const ReportCell*>& cells) {
  std::set<std::string> axes;
  std::vector<std::string> order;
  for (const ReportCell* cell : cells) {
    for (const std::string& axis : AxesOf(*cell)) {
      if (axes.insert(axis).second) order.push_back(axis);
    }
  }
  std::vector<std::string> swept;
  for (const std::string& axis : order) {
    std::set<std::string> values;
    for (const ReportCell* cell : cells) {
      values.insert(Setting::AxisValue(*cell, axis));
    }
    if (values.size() > 1) swept.push_back(axis);
  }
  return swept;
}

std::string PointOf(const ReportCell& cell,
                    const std::vector<std::string>& swept) {
  std::vector<std::string> parts;
  for (const std::string& axis : swept) {
    parts.push_back(absl::StrCat(axis, "=", Setting::AxisValue(cell, axis)));
  }
  return absl::StrJoin(parts, ", ");
}

// Numbers by size, so that workers=10 comes after workers=2.
std::vector<std::pair<double, std::string>> PointOrder(
    const ReportCell& cell, const std::vector<std::string>& swept) {
  std::vector<std::pair<double, std::string>> order;
  for (const std::string& axis : swept) {
    const std::string text = Setting::AxisValue(cell, axis);
    double number = 0;
    const bool is_number = absl::SimpleAtod(text, &number);
    order.emplace_back(is_number ? number : 1e300, is_number ? "" : text);
  }
  return order;
}

std::string IdFrom(const std::string& text) {
  std::string id;
  for (const char c : text) {
    if (absl::ascii_isalnum(c)) {
      id += absl::ascii_tolower(c);
    } else if (!id.empty() && id.back() != '-') {
      id += '-';
    }
  }
  while (!id.empty() && id.back() == '-') id.pop_back();
  return id;
}

std::string DescriptionOf(const Row& row, const std::vector<std::string>& swept,
                          const std::set<std::string>& labels) {
  std::vector<std::string> parts;
  const auto fixed = [&](const std::string& axis) {
    return std::find(swept.begin(), swept.end(), axis) == swept.end();
  };
  parts.push_back(absl::StrCat("Machine `", row.machine_profile(), "`"));
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

// "kornia", or "kornia 0.8.2" where several versions stand side by side; side
// `a` and `b` of a duel apart.
std::string ColumnOf(const ReportCell& cell,
                     const std::map<std::string, std::set<std::string>>& all) {
  const Row& row = cell.example;
  std::string name = row.library().empty() ? "–" : row.library();
  if (all.at(row.library()).size() > 1) {
    absl::StrAppend(&name, " ", row.library_version());
  }
  if (row.has_pair()) absl::StrAppend(&name, " (", row.pair().side(), ")");
  return name;
}

Setting MakeSetting(std::vector<const ReportCell*> cells,
                    const std::set<std::string>& all_libraries) {
  Setting setting;
  setting.swept = SweptAxes(cells);
  std::stable_sort(cells.begin(), cells.end(),
                   [&](const auto* a, const auto* b) {
                     return std::make_pair(a->example.transform(),
                                           PointOrder(*a, setting.swept)) <
                            std::make_pair(b->example.transform(),
                                           PointOrder(*b, setting.swept));
                   });
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
    // Two versions of a library must differ in colour, at the price of the
    // same colour everywhere.
    setting.colors.push_back(static_cast<int>(
        columns.size() > versions.size()
            ? setting.colors.size()
            : std::distance(all_libraries.begin(),
                            all_libraries.find(column.second))));
  }
  for (const ReportCell* cell : cells) {
    const Setting::Line line{cell->example.transform(),
                             PointOf(*cell, setting.swept)};
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
  setting.title = row.scenario();
  if (!row.scope().empty()) absl::StrAppend(&setting.title, ", ", row.scope());
  absl::StrAppend(&setting.title, ", ", row.device());
  setting.id = IdFrom(absl::StrCat(row.mode(), " ", setting.title));
  setting.description = DescriptionOf(row, setting.swept, labels);
  return setting;
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
  std::map<Key, std::vector<const ReportCell*>> groups;
  std::set<std::string> libraries;
  for (const ReportCell& cell : cells) {
    if (cell.example.library() == kNullLibrary) continue;
    groups[KeyOf(cell)].push_back(&cell);
    libraries.insert(cell.example.library());
  }
  std::vector<Setting> settings;
  std::map<std::string, int> titles;
  for (auto& group : groups) {
    settings.push_back(MakeSetting(std::move(group.second), libraries));
    ++titles[settings.back().id];
  }
  // Where titles are equal, the description tells them apart; ids must differ.
  std::map<std::string, int> seen;
  for (Setting& setting : settings) {
    if (titles[setting.id] < 2) continue;
    absl::StrAppend(&setting.title, ", ", setting.example.machine_profile());
    const int number = ++seen[setting.id];
    absl::StrAppend(&setting.id, "-", number);
  }
  return settings;
}

}  // namespace feedrate
