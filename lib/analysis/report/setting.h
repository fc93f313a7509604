// Cells that belong into one table: measured in the same way on one machine.
#ifndef FEEDRATE_LIB_ANALYSIS_REPORT_SETTING_H_
#define FEEDRATE_LIB_ANALYSIS_REPORT_SETTING_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lib/analysis/report/cell.h"

namespace feedrate {

// One table of a report: its lines are transforms, or transforms under the
// points of a sweep; its columns libraries.
struct Setting {
  // A cell's line: the transform, then what the sweep varies, such as
  // "workers=4, prefetch=2" (empty without a sweep).
  struct Line {
    std::string transform;
    std::string point;

    std::string Name() const;
    bool operator==(const Line& other) const {
      return transform == other.transform && point == other.point;
    }
  };

  // Such as "image-rgb-micro-cpu"; unique among the settings of a report.
  std::string id;
  // Such as "image-rgb, memory_dataloader_augment, cpu".
  std::string title;
  // What holds for all its cells, in words.
  std::string description;
  std::string mode;
  std::string unit;
  // Of its first cell.
  Row example;
  // Names of columns, and lines, both in the order of the report.
  std::vector<std::string> libraries;
  std::vector<Line> lines;
  // A number for the colour of each column: the same library has the same one
  // in all settings of a report.
  std::vector<int> colors;
  // Axes with more than one value, such as "workers".
  std::vector<std::string> swept;

  // Null: no such cell.
  const ReportCell* Find(size_t line, size_t library) const;
  // Value of an axis of a cell as text.
  static std::string AxisValue(const ReportCell& cell, const std::string& axis);

  std::map<std::pair<size_t, size_t>, const ReportCell*> cells;
};

// Settings in the order of a report: pipelines and what is like them first,
// micro last. Rows of the `null` library are left out. Keeps pointers into
// `cells`.
std::vector<Setting> SettingsOf(const std::vector<ReportCell>& cells);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_REPORT_SETTING_H_
