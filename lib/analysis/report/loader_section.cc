#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/optional.h"
#include "lib/analysis/report/cell.h"
#include "lib/analysis/report/side_sections.h"
#include "lib/draw/document.h"
#include "lib/draw/text.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

constexpr const char* kStages[] = {"read", "decode", "augment", "collate",
                                   "copy"};

std::string Percent(bool known, double share) {
  return known ? absl::StrFormat("%.0f%%", 100 * share) : "–";
}

std::string Milliseconds(double seconds) {
  return absl::StrFormat("%.1f", 1e3 * seconds);
}

std::string NameOf(const Row& row) {
  std::string name = absl::StrCat(row.library(), ", ", row.transform(),
                                  ", workers ", row.workers());
  for (const auto& setting : std::map<std::string, std::string>(
           row.settings().begin(), row.settings().end())) {
    absl::StrAppend(&name, ", ", setting.first, " ", setting.second);
  }
  return name;
}

double BusyOf(const LoaderStats& loader, const std::string& name) {
  for (const LoaderStage& stage : loader.stages()) {
    if (stage.name() == name) return stage.busy_s();
  }
  return 0;
}

std::vector<DocumentCell> TimesOf(const Row& row) {
  const LoaderStats& loader = row.loader();
  const double items = static_cast<double>(row.items());
  return {NameOf(row),
          Milliseconds(loader.startup_s()),
          Milliseconds(loader.first_batch_s()),
          Milliseconds(loader.teardown_s()),
          Milliseconds(row.p50_s()),
          Milliseconds(row.p99_s()),
          items > 0 ? Milliseconds(loader.cpu_s() / items) : "–",
          Percent(loader.has_worker_efficiency(), loader.worker_efficiency()),
          Percent(loader.has_sync_overhead(), loader.sync_overhead()),
          Percent(loader.has_consumer_utilisation(),
                  loader.consumer_utilisation())};
}

// Shares of all busy time.
std::vector<DocumentCell> StagesOf(const Row& row) {
  double all = 0;
  for (const LoaderStage& stage : row.loader().stages()) all += stage.busy_s();
  std::vector<DocumentCell> cells = {NameOf(row)};
  for (const char* name : kStages) {
    cells.emplace_back(Percent(all > 0, BusyOf(row.loader(), name) / all));
  }
  const LoaderDiagnosis& diagnosis = row.loader().diagnosis();
  cells.emplace_back(diagnosis.verdict().empty() ? "–"
                                                 : diagnosis.explanation());
  return cells;
}

}  // namespace

absl::optional<Section> LoaderSection(const std::vector<ReportCell>& cells) {
  DocumentTable times;
  times.header = {"loader",          "start ms",          "first batch ms",
                  "end ms",          "batch p50 ms",      "batch p99 ms",
                  "CPU ms an item",  "worker efficiency", "sync overhead",
                  "accelerator busy"};
  times.align.assign(times.header.size(), Align::kRight);
  times.align[0] = Align::kLeft;
  DocumentTable stages;
  stages.header = {"loader",  "read", "decode",    "augment",
                   "collate", "copy", "what binds"};
  stages.align.assign(stages.header.size(), Align::kRight);
  stages.align.front() = stages.align.back() = Align::kLeft;
  for (const ReportCell& cell : cells) {
    const Row& row = cell.example;
    if (!row.has_loader() || row.library() == "null") continue;
    times.rows.push_back(TimesOf(row));
    if (row.loader().stages().empty() && !row.loader().has_diagnosis()) {
      continue;
    }
    stages.rows.push_back(StagesOf(row));
  }
  if (times.rows.empty()) return absl::nullopt;
  Section section;
  section.id = "loaders";
  section.title = "Loaders";
  section.blocks.emplace_back(Paragraph{
      "One run of each: start and end are parts of the epoch, a batch's time "
      "goes from asking for it to having it. Worker efficiency is throughput "
      "over that of one worker times the workers."});
  section.blocks.emplace_back(std::move(times));
  if (!stages.rows.empty()) {
    section.blocks.emplace_back(Paragraph{
        "Shares of the busy time of all threads, by stage, and what binds "
        "where it was measured."});
    section.blocks.emplace_back(std::move(stages));
  }
  return section;
}

}  // namespace feedrate
