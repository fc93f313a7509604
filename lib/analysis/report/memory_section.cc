#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "lib/analysis/report/cell.h"
#include "lib/analysis/report/side_sections.h"
#include "lib/draw/charts.h"
#include "lib/draw/document.h"
#include "lib/draw/text.h"

namespace feedrate {
namespace {

constexpr double kMebibyte = 1 << 20;

struct Peaks {
  absl::optional<double> rss;
  absl::optional<double> gpu;
  // Cell of the largest resident memory.
  std::string where;
};

// By mode, device and library.
using PeakMap = std::map<std::string, Peaks>;

void Raise(const absl::optional<double>& value, absl::optional<double>* peak) {
  if (!value.has_value()) return;
  *peak = std::max(*value, peak->value_or(*value));
}

PeakMap PeaksOf(const std::vector<ReportCell>& cells) {
  PeakMap peaks;
  for (const ReportCell& cell : cells) {
    if (!cell.rss_peak_bytes.has_value() && !cell.gpu_peak_bytes.has_value()) {
      continue;
    }
    const Row& row = cell.example;
    Peaks& place = peaks[absl::StrCat(row.library(), ", ", row.mode(), ", ",
                                      row.device())];
    if (cell.rss_peak_bytes.has_value() &&
        *cell.rss_peak_bytes > place.rss.value_or(-1)) {
      place.where = row.transform();
    }
    Raise(cell.rss_peak_bytes, &place.rss);
    Raise(cell.gpu_peak_bytes, &place.gpu);
  }
  return peaks;
}

DocumentCell BytesCell(const absl::optional<double>& bytes) {
  if (!bytes.has_value()) return DocumentCell("–");
  DocumentCell cell(BytesText(*bytes));
  cell.value = *bytes;
  return cell;
}

Figure FigureOf(const PeakMap& peaks) {
  BarChart chart;
  chart.title = "Peak memory";
  chart.axis_title = "MiB";
  chart.series = {"resident", "GPU allocator"};
  for (const auto& entry : peaks) {
    BarGroup group;
    group.name = entry.first;
    for (const auto& bytes : {entry.second.rss, entry.second.gpu}) {
      if (!bytes.has_value()) {
        group.bars.emplace_back();
        continue;
      }
      Bar bar;
      bar.estimate = Estimate{*bytes / kMebibyte, absl::nullopt};
      bar.text = BytesText(*bytes);
      bar.hover = absl::StrCat(entry.first, "\n", bar.text);
      group.bars.emplace_back(std::move(bar));
    }
    chart.groups.push_back(std::move(group));
  }
  Figure figure;
  figure.id = "memory-peaks";
  figure.caption =
      "Largest memory of any run: resident set of the measured process, and "
      "what the CUDA allocator had in tensors.";
  figure.draw = [chart](ScaleType, double width) {
    BarChart sized = chart;
    sized.width = width;
    return DrawBarChart(sized);
  };
  return figure;
}

}  // namespace

absl::optional<Section> MemorySection(const std::vector<ReportCell>& cells) {
  const PeakMap peaks = PeaksOf(cells);
  if (peaks.empty()) return absl::nullopt;
  Section section;
  section.id = "memory";
  section.title = "Memory";
  section.blocks.emplace_back(FigureOf(peaks));
  DocumentTable table;
  table.header = {"library, mode, device", "resident peak", "reached by",
                  "GPU peak"};
  table.align = {Align::kLeft, Align::kRight, Align::kLeft, Align::kRight};
  for (const auto& entry : peaks) {
    table.rows.push_back({entry.first, BytesCell(entry.second.rss),
                          entry.second.where, BytesCell(entry.second.gpu)});
  }
  section.blocks.emplace_back(std::move(table));
  return section;
}

}  // namespace feedrate
