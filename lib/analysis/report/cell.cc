#include "lib/analysis/report/cell.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "lib/draw/charts.h"
#include "lib/draw/text.h"
#include "lib/planning/jobs.h"
#include "lib/records/records.pb.h"
#include "lib/stats/quantiles.h"
#include "lib/stats/summary.h"

namespace feedrate {
namespace {

bool HasLabel(const Row& row, const std::string& label) {
  return std::find(row.labels().begin(), row.labels().end(), label) !=
         row.labels().end();
}

// Sorted so that tables come out by scenario, transform, settings, library.
using CellKey =
    std::tuple<std::string, std::string, std::string, int64_t, int32_t, int32_t,
               std::string, std::string, std::string, std::string, std::string,
               bool, bool, std::string>;

CellKey KeyOf(const Row& row) {
  return CellKey(row.scenario(), row.mode(), row.transform(), row.num_items(),
                 row.batch_size(), row.workers(), row.library(), row.job_id(),
                 row.machine_profile(), row.library_version(),
                 row.dataset().sha256(), HasLabel(row, "exploratory"),
                 HasLabel(row, "cold"), row.pair().side());
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

bool ReportCell::DoesTheWork() const {
  const std::string& label = example.equivalence().label();
  return label == "exact" || label == "equivalent";
}

std::string ReportCell::Text() const {
  if (summary.has_value()) return SignificantText(summary->median);
  if (status == "early_stopped") {
    return absl::StrCat("≤ ", SignificantText(example.throughput()));
  }
  return status;
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
  for (const auto& warning : warnings) {
    absl::StrAppend(&text, "\n", warning.first, " in ", warning.second, " of ",
                    runs, " runs");
  }
  return text;
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

Estimate RatioOf(const ReportCell& a, const ReportCell& b) {
  Estimate ratio;
  ratio.value = a.summary->median / b.summary->median;
  if (a.summary->interval.has_value() && b.summary->interval.has_value()) {
    ratio.whiskers =
        WhiskersOf(RatioInterval(a.summary->median, *a.summary->interval,
                                 b.summary->median, *b.summary->interval));
  }
  return ratio;
}

}  // namespace feedrate
