#include "lib/analysis/report/where_section.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/draw/axes.h"
#include "lib/draw/flame_graph.h"
#include "lib/gate/paired_rows.h"
#include "lib/gate/where.h"
#include "lib/records/verdict.pb.h"

namespace feedrate {
namespace {

constexpr size_t kMostLines = 30;

DocumentCell Number(double value, std::string text, std::string detail = "") {
  DocumentCell cell(std::move(text));
  cell.value = value;
  cell.detail = std::move(detail);
  return cell;
}

std::string SignedTime(double seconds) {
  return absl::StrCat(seconds < 0 ? "−" : "+", SecondsText(std::abs(seconds)));
}

DocumentTable PartsTable(const std::vector<ProfilePart>& parts,
                         const std::string& what) {
  DocumentTable table;
  table.header = {what, "share of the change", "change", "A", "B"};
  table.align = {Align::kLeft, Align::kRight, Align::kRight, Align::kRight,
                 Align::kRight};
  for (const ProfilePart& part : parts) {
    if (table.rows.size() == kMostLines) break;
    DocumentCell share;
    if (part.has_share_percent()) {
      share = Number(part.share_percent(),
                     absl::StrFormat("%.0f%%", part.share_percent()),
                     absl::StrFormat("%.0f … %.0f", part.share_low_percent(),
                                     part.share_high_percent()));
    }
    table.rows.push_back({part.name(), share,
                          Number(part.change_s(), SignedTime(part.change_s()),
                                 absl::StrCat(SignedTime(part.low_s()), " … ",
                                              SignedTime(part.high_s()))),
                          Number(part.a_s(), SecondsText(part.a_s())),
                          Number(part.b_s(), SecondsText(part.b_s()))});
  }
  // There are no shares of a change that is not clear.
  table.DropEmptyColumns();
  return table;
}

Figure FlameFigure(const Profile& profile, const std::string& id) {
  FlameGraph graph;
  graph.title = "Differential flame graph of A and B";
  for (const ProfileFrame& frame : profile.frames()) {
    graph.frames.push_back(
        {frame.parent(), frame.name(), frame.a_s(), frame.b_s()});
  }
  Figure figure;
  figure.id = id;
  figure.caption =
      "Calls from the top down. A frame is as wide as its time on both sides "
      "together; its color says how much more or less time B takes.";
  figure.draw = [graph](ScaleType, double width) {
    FlameGraph sized = graph;
    sized.width = width;
    return DrawFlameGraph(sized);
  };
  return figure;
}

}  // namespace

absl::optional<Section> WhereSection(const ReportInput& input) {
  Section section;
  section.id = "where";
  section.title = "Where the time changed";
  for (size_t i = 0; i < input.profiles.size(); ++i) {
    const Profile& profile = input.profiles[i];
    DocumentTable table = PartsTable(
        {profile.parts().begin(), profile.parts().end()}, "function");
    table.caption = absl::StrCat(
        "Functions by their own time, the largest change first, with 95% "
        "intervals over ",
        profile.pairs(), " profiled pairs. ",
        profile.profiler() == "perf" ? "CPU time of all threads"
                                     : "Time of the main thread",
        " per run: A ", SecondsText(profile.a_s()), ", B ",
        SecondsText(profile.b_s()), ".");
    section.blocks.emplace_back(std::move(table));
    section.blocks.emplace_back(
        FlameFigure(profile, absl::StrCat("flame-graph", i == 0 ? "" : "-",
                                          i == 0 ? "" : absl::StrCat(i + 1))));
  }
  PairedRows paired(RunStatistic::kTypical);
  for (const Row& row : input.rows) paired.Add(row);
  for (const PairedJob& job : paired.jobs()) {
    const std::vector<ProfilePart> parts = RowParts(job);
    if (parts.empty()) continue;
    DocumentTable table = PartsTable(parts, "part");
    table.caption =
        absl::StrCat(job.label,
                     ": time per item or step by stage or part, with 95% "
                     "intervals over pairs.");
    section.blocks.emplace_back(std::move(table));
  }
  if (section.blocks.empty()) return absl::nullopt;
  return section;
}

}  // namespace feedrate
