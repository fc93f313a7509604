#include "lib/analysis/report/setting_section.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "lib/analysis/report/cell.h"
#include "lib/analysis/report/setting.h"
#include "lib/analysis/report/setting_figures.h"
#include "lib/analysis/report/speedups.h"
#include "lib/draw/document.h"
#include "lib/draw/text.h"

namespace feedrate {
namespace {

const ReportCell* BestOf(const Setting& setting, size_t line) {
  const ReportCell* best = nullptr;
  for (size_t i = 0; i < setting.libraries.size(); ++i) {
    const ReportCell* cell = setting.Find(line, i);
    if (cell == nullptr || !cell->summary.has_value()) continue;
    if (best == nullptr || cell->summary->median > best->summary->median) {
      best = cell;
    }
  }
  return best;
}

// The best, or one whose interval leaves open which of the two is better.
bool IsAmongBest(const ReportCell& cell, const ReportCell* best) {
  if (best == nullptr || !cell.summary.has_value()) return false;
  if (&cell == best) return true;
  return cell.summary->interval.has_value() &&
         best->summary->interval.has_value() &&
         cell.summary->interval->high >= best->summary->interval->low;
}

DocumentCell CellOf(const ReportCell* cell, const ReportCell* best,
                    bool is_contest) {
  if (cell == nullptr) {
    DocumentCell none("");
    none.is_muted = true;
    return none;
  }
  DocumentCell result(cell->Text());
  result.hover = cell->Story();
  if (!cell->summary.has_value()) {
    result.is_muted = true;
    return result;
  }
  const Summary& summary = *cell->summary;
  result.value = summary.median;
  result.is_best = is_contest && IsAmongBest(*cell, best);
  if (summary.interval.has_value()) {
    result.detail =
        absl::StrCat("[", SignificantText(summary.interval->low), ", ",
                     SignificantText(summary.interval->high), "]");
  }
  if (cell->IsUnstable()) result.detail += " unstable";
  return result;
}

template <typename MaybeFigure>
void AddFigure(MaybeFigure figure, Section* section) {
  if (figure.has_value()) section->blocks.emplace_back(*std::move(figure));
}

void AddSpeedUps(const Setting& setting, const SpeedUpOptions& options,
                 Section* section) {
  const absl::optional<SpeedUps> speed_ups =
      SpeedUpsOf(setting, options.relative_to, options.any_work);
  if (!speed_ups.has_value()) return;
  AddFigure(ForestOf(setting, *speed_ups), section);
  if (speed_ups->left_out == 0) return;
  Paragraph note;
  note.text = absl::StrCat(
      speed_ups->left_out,
      speed_ups->left_out == 1 ? " ratio is" : " ratios are",
      " not drawn: the outputs are not known to be the same, so speed would "
      "be compared between different work. `--any-work` draws them.");
  section->blocks.emplace_back(std::move(note));
}

}  // namespace

DocumentTable TableOf(const Setting& setting) {
  DocumentTable table;
  table.caption = absl::StrCat("Median ", setting.unit,
                               "s per second, with 95% intervals from three "
                               "runs on. Bold: the best, and what its interval "
                               "does not separate from it.");
  const bool has_points = !setting.swept.empty();
  table.header.push_back("transform");
  table.align.push_back(Align::kLeft);
  if (has_points) {
    table.header.push_back("setting");
    table.align.push_back(Align::kLeft);
  }
  for (const std::string& library : setting.libraries) {
    table.header.push_back(library);
    table.align.push_back(Align::kRight);
  }
  for (size_t line = 0; line < setting.lines.size(); ++line) {
    const std::string& transform = setting.lines[line].transform;
    std::vector<DocumentCell> row = {transform.empty() ? "–" : transform};
    if (has_points) row.emplace_back(setting.lines[line].point);
    const ReportCell* best = BestOf(setting, line);
    for (size_t i = 0; i < setting.libraries.size(); ++i) {
      row.push_back(
          CellOf(setting.Find(line, i), best, setting.libraries.size() > 1));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Section SettingSection(const Setting& setting, const SpeedUpOptions& options) {
  Section section;
  section.id = setting.id;
  section.title = setting.title;
  section.level = 2;
  section.blocks.emplace_back(Paragraph{setting.description});
  section.blocks.emplace_back(TableOf(setting));
  for (Figure& figure : ScalingOf(setting)) {
    section.blocks.emplace_back(std::move(figure));
  }
  AddFigure(BarsOf(setting), &section);
  AddFigure(HeatMapOf(setting), &section);
  AddSpeedUps(setting, options, &section);
  AddFigure(OfLimitOf(setting), &section);
  return section;
}

}  // namespace feedrate
