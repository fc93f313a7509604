#include "lib/runner/loader/loader_report.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "lib/base/text.h"
#include "lib/catalogue/catalogue.h"
#include "lib/draw/text.h"
#include "lib/records/attempts.h"
#include "lib/records/loader.pb.h"
#include "lib/runner/loader/loader_row.h"
#include "lib/stats/summary.h"
#include "lib/stats/winner.h"

namespace feedrate {
namespace {

std::string NameOf(const Row& row) {
  return absl::StrCat(row.library(), " ", row.transform());
}

std::string SecondsText(double seconds) {
  return absl::StrFormat("%.3f", seconds);
}

// The stage whose row of the table shows the ablation.
std::string StageOf(const std::string& ablation) {
  if (ablation == "no_decode") return "decode";
  if (ablation == "no_augment") return "augment";
  return ablation == kCachedBatch ? "collate" : "all";
}

std::string ShareText(const LoaderAblation& ablation) {
  if (!ablation.has_share()) return "";
  if (IsNoise(ablation)) {
    return ablation.share() <= 0 ? "noise: slower without it"
                                 : "noise: 0% is possible";
  }
  std::string text = absl::StrFormat("%.0f%%", 100 * ablation.share());
  if (ablation.has_share_low()) {
    absl::StrAppendFormat(&text, " [%.0f, %.0f]", 100 * ablation.share_low(),
                          100 * ablation.share_high());
  }
  return text;
}

std::string ThroughputText(const LoaderAblation& ablation) {
  std::string text = absl::StrFormat("%.0f", ablation.throughput());
  if (ablation.has_throughput_low()) {
    absl::StrAppendFormat(&text, " [%.0f, %.0f]", ablation.throughput_low(),
                          ablation.throughput_high());
  }
  return text;
}

// `images/s`.
std::string RateUnit(const Row& row) { return absl::StrCat(row.unit(), "s/s"); }

// One line per stage: what the loader reports about it, and what epochs
// without it show.
std::string StagesText(const Row& row) {
  const LoaderStats& loader = row.loader();
  Table table({"stage", "busy s", "waits for input s", "waits for room s",
               "queue in use", absl::StrCat(RateUnit(row), " without it [95%]"),
               "share of the time [95%]"},
              {Align::kLeft, Align::kRight, Align::kRight, Align::kRight,
               Align::kRight, Align::kRight, Align::kRight});
  for (const char* name :
       {"read", "decode", "augment", "collate", "copy", "all"}) {
    std::vector<std::string> cells(7);
    cells[0] = name;
    bool found = false;
    for (const LoaderStage& stage : loader.stages()) {
      if (stage.name() != name) continue;
      found = true;
      cells[1] = SecondsText(stage.busy_s());
      cells[2] = SecondsText(stage.wait_in_s());
      cells[3] = SecondsText(stage.wait_out_s());
      cells[4] = absl::StrFormat("%.0f%%", 100 * stage.queue_fill());
    }
    for (const LoaderAblation& ablation : loader.diagnosis().ablations()) {
      if (StageOf(ablation.name()) != name) continue;
      found = true;
      // An epoch that hands over and does nothing else says nothing as a rate.
      if (ablation.name() != kCachedBatch) cells[5] = ThroughputText(ablation);
      if (ablation.name() == kFullEpoch)
        absl::StrAppend(&cells[5], " with all");
      cells[6] = ShareText(ablation);
    }
    if (found) table.AddRow(cells);
  }
  return table.empty() ? "" : table.ToText();
}

}  // namespace

std::string DiagnosisText(const Row& row) {
  if (!row.loader().has_diagnosis()) return "";
  const LoaderDiagnosis& diagnosis = row.loader().diagnosis();
  std::string text = absl::StrCat(NameOf(row), "\n", StagesText(row));
  if (diagnosis.not_measured_size() > 0) {
    absl::StrAppend(&text, "not measured, because this loader cannot do it: ",
                    absl::StrJoin(diagnosis.not_measured(), ", "), "\n");
  }
  if (!diagnosis.verdict().empty()) {
    absl::StrAppend(&text, "verdict: ", diagnosis.explanation());
  } else if (!diagnosis.explanation().empty()) {
    absl::StrAppend(&text, "no verdict: ", diagnosis.explanation());
  } else if (diagnosis.ablations_size() > 1) {
    absl::StrAppend(&text, "no verdict: no part costs more than the noise; ",
                    "use more items or a quieter machine");
  } else {
    absl::StrAppend(&text, "no verdict: this loader leaves nothing out");
  }
  return absl::StrCat(text, "\n");
}

std::string UtilizationText(const Row& row) {
  const LoaderStats& loader = row.loader();
  if (!loader.has_consumer_utilisation()) return "";
  std::string text = absl::StrFormat(
      "%s: accelerator utilization %.1f%% with a step of %.1f ms; ",
      NameOf(row), 100 * loader.consumer_utilisation(),
      1e3 * loader.consumer_step_s());
  if (!loader.has_utilisation_mark()) {
    absl::StrAppend(&text, "no verdict from ",
                    Counted(loader.batches(), "batch", "es"),
                    ": use a longer --min_time\n");
    return text;
  }
  absl::StrAppendFormat(
      &text, "MLPerf Storage passes from %.0f%% on: %s\n",
      100 * loader.utilisation_mark(),
      loader.consumer_utilisation() >= loader.utilisation_mark() ? "pass"
                                                                 : "fail");
  return text;
}

std::string FaultsText(const Row& row) {
  const LoaderStats& loader = row.loader();
  if (loader.errors_total() == 0) return "";
  std::string text = absl::StrCat(NameOf(row), ": left out ",
                                  Counted(loader.errors_total(), "item", "s"));
  if (!loader.errors().empty()) {
    const LoaderFault& first = loader.errors(0);
    absl::StrAppend(&text, "; the first: ",
                    first.path().empty() ? absl::StrCat("item ", first.item())
                                         : first.path(),
                    ": ", first.reason());
  }
  return absl::StrCat(text, "\n");
}

namespace {

// A setting within 3% of the best is good enough.
constexpr double kGoodEnough = 0.97;

// One setting and its throughput.
struct Point {
  int workers = 0;
  int batch_size = 0;
  std::map<std::string, std::string> settings;
  Contestant runs;
  std::string unit;

  double throughput() const { return runs.summary.median; }
};

using PointKey = std::tuple<int, int, std::map<std::string, std::string>>;

// Rows that differ only in their settings. They outlive the group.
struct Group {
  std::string name;
  std::string unit;
  // By index, the attempt at a run that counts.
  std::map<PointKey, std::map<int, const Row*>> runs;
};

std::vector<Group> GroupRows(const std::vector<Row>& rows) {
  std::vector<Group> groups;
  std::map<std::string, size_t> known;
  for (const Row& row : rows) {
    if (row.status() != "ok" || row.library() == "null") continue;
    const std::string name = absl::StrCat(row.library(), " ", row.transform());
    const std::string key =
        absl::StrJoin({name, row.scenario(), row.scope(), row.device(),
                       row.params_profile(), row.thread_policy()},
                      "\n");
    const auto [entry, is_new] = known.emplace(key, groups.size());
    if (is_new) groups.push_back({name, RateUnit(row), {}});
    const PointKey point = {row.workers(),
                            row.batch_size(),
                            {row.settings().begin(), row.settings().end()}};
    const Row*& counts = groups[entry->second].runs[point][row.run_index()];
    if (counts == nullptr || AttemptRank(row) <= AttemptRank(*counts)) {
      counts = &row;
    }
  }
  return groups;
}

std::vector<Point> PointsOf(const Group& group) {
  std::vector<Point> points;
  for (const auto& [key, runs] : group.runs) {
    Point& point = points.emplace_back();
    point.unit = group.unit;
    std::tie(point.workers, point.batch_size, point.settings) = key;
    std::vector<double> values;
    for (const auto& run : runs) {
      values.push_back(run.second->throughput());
      point.runs.disturbed += DisturbancesOf(*run.second).empty() ? 0 : 1;
    }
    point.runs.summary = Summarize(absl::MakeSpan(values));
  }
  return points;
}

int64_t PrefetchOf(const Point& point) {
  int64_t prefetch = 1;
  const auto found = point.settings.find("prefetch");
  if (found != point.settings.end()) {
    (void)absl::SimpleAtoi(found->second, &prefetch);
  }
  return prefetch;
}

// Items in memory at once.
int64_t MemoryOf(const Point& point) {
  return PrefetchOf(point) * point.batch_size * std::max(point.workers, 1);
}

bool IsSmaller(const Point& a, const Point& b) {
  return std::make_tuple(a.workers, MemoryOf(a), -a.throughput()) <
         std::make_tuple(b.workers, MemoryOf(b), -b.throughput());
}

// Names only the settings that differ within the group.
class Namer {
 public:
  explicit Namer(const std::vector<Point>& points) {
    for (const Point& point : points) {
      workers_ |= point.workers != points[0].workers;
      batch_size_ |= point.batch_size != points[0].batch_size;
      for (const auto& [name, value] : point.settings) {
        for (const Point& other : points) {
          const auto found = other.settings.find(name);
          if (found == other.settings.end() || found->second != value) {
            settings_[name] = true;
          }
        }
      }
    }
  }

  std::string Of(const Point& point) const {
    std::vector<std::string> parts;
    if (workers_) parts.push_back(absl::StrCat("workers=", point.workers));
    if (batch_size_) {
      parts.push_back(absl::StrCat("batch_size=", point.batch_size));
    }
    for (const auto& [name, value] : point.settings) {
      if (settings_.count(name) > 0) {
        parts.push_back(absl::StrCat(name, "=", value));
      }
    }
    return absl::StrJoin(parts, ", ");
  }

 private:
  bool workers_ = false;
  bool batch_size_ = false;
  std::map<std::string, bool> settings_;
};

// What each worker adds, with all other settings as in `best`.
std::string GainsText(const std::vector<Point>& points, const Point& best) {
  const Point* before = nullptr;
  std::vector<std::string> parts;
  // Points are sorted by workers.
  for (const Point& point : points) {
    if (point.batch_size != best.batch_size ||
        point.settings != best.settings) {
      continue;
    }
    if (before != nullptr) {
      const double gain = (point.throughput() - before->throughput()) /
                          (point.workers - before->workers);
      parts.push_back(
          absl::StrFormat("%d to %d: ", before->workers, point.workers));
      if (Separate(point.runs, before->runs).evidence == Evidence::kSeparate) {
        absl::StrAppendFormat(&parts.back(), "%+.0f", gain);
      } else {
        parts.back() += "not separate";
      }
    }
    before = &point;
  }
  return parts.empty()
             ? ""
             : absl::StrCat("  ", best.unit, " that each worker adds: ",
                            absl::StrJoin(parts, ", "), "\n");
}

std::string ThroughputText(const Point& point) {
  std::string text = absl::StrFormat("%.0f %s", point.throughput(), point.unit);
  if (point.runs.summary.interval) {
    absl::StrAppendFormat(&text, " [%.0f, %.0f]",
                          point.runs.summary.interval->low,
                          point.runs.summary.interval->high);
  }
  return text;
}

std::string TextOf(const Group& group, const std::vector<Point>& points) {
  const Namer namer(points);
  const Point& best = *std::max_element(
      points.begin(), points.end(), [](const Point& a, const Point& b) {
        return a.throughput() < b.throughput();
      });
  const Point* smallest = &best;
  for (const Point& point : points) {
    if (point.throughput() >= kGoodEnough * best.throughput() &&
        IsSmaller(point, *smallest)) {
      smallest = &point;
    }
  }
  std::string text = absl::StrCat(
      group.name, "\n  highest median: ", namer.Of(best), ": ",
      ThroughputText(best),
      "\n  smallest with a median within 3% of it: ", namer.Of(*smallest), ": ",
      ThroughputText(*smallest), "\n", GainsText(points, best));
  const auto& interval = smallest->runs.summary.interval;
  if (smallest != &best &&
      (!interval || interval->low < kGoodEnough * best.throughput())) {
    absl::StrAppend(&text, "  No advice: ", namer.Of(*smallest),
                    " may be more than 3% slower; more runs would show it.\n");
    return text;
  }
  // What is smaller still must be known to be slower.
  bool is_smallest = true;
  for (const Point& point : points) {
    if (&point == smallest || !IsSmaller(point, *smallest)) continue;
    is_smallest = false;
    const Separation from_best = Separate(best.runs, point.runs);
    if (from_best.evidence == Evidence::kSeparate) continue;
    absl::StrAppend(&text, "  No advice: ", namer.Of(point), " (",
                    ThroughputText(point), ") and the highest: ",
                    EvidenceText(from_best.evidence, from_best.runs_needed),
                    ".\n");
    return text;
  }
  absl::StrAppend(&text, "  Use ", namer.Of(*smallest), ": ");
  if (smallest != &best) {
    absl::StrAppendFormat(
        &text, "%.0f%% of the highest with fewer workers or less memory.\n",
        100 * smallest->throughput() / best.throughput());
  } else {
    absl::StrAppend(&text, is_smallest
                               ? "nothing smaller was measured.\n"
                               : "nothing smaller comes within 3% of it.\n");
  }
  return text;
}

}  // namespace

std::string SweepSummary(const std::vector<Row>& rows) {
  std::string text;
  for (const Group& group : GroupRows(rows)) {
    const std::vector<Point> points = PointsOf(group);
    if (points.size() > 1) absl::StrAppend(&text, TextOf(group, points));
  }
  return text;
}

namespace {

// The rows of a loader on a container, by run. A later attempt replaces an
// earlier one.
using Runs = std::map<int, Row>;

// What is compared in one table.
struct ContainerGroup {
  std::string title;
  // By container, in the order of the names, and by library.
  std::map<std::pair<size_t, std::string>, Runs> cells;
  // Containers by library and reason.
  std::map<std::pair<std::string, std::string>, std::vector<std::string>>
      missing;
};

std::string TitleOf(const Row& row) {
  std::vector<std::string> parts = {
      row.transform(), absl::StrCat("workers=", row.workers()),
      absl::StrCat("batch_size=", row.batch_size())};
  const std::map<std::string, std::string> settings(row.settings().begin(),
                                                    row.settings().end());
  for (const auto& [name, value] : settings) {
    if (name == kContainerSetting) continue;
    parts.push_back(absl::StrCat(name, "=", value));
  }
  return absl::StrJoin(parts, ", ");
}

std::vector<ContainerGroup> GroupByContainer(const std::vector<Row>& rows) {
  std::vector<ContainerGroup> groups;
  std::map<std::string, size_t> known;
  const std::vector<std::string>& names = ContainerNames();
  for (const Row& row : rows) {
    const std::string container = ContainerOf(row);
    if (container.empty()) continue;
    const std::string title = TitleOf(row);
    const auto [entry, is_new] = known.emplace(title, groups.size());
    if (is_new) groups.emplace_back().title = title;
    ContainerGroup& group = groups[entry->second];
    if (row.status() == "ok") {
      const size_t place =
          std::find(names.begin(), names.end(), container) - names.begin();
      group.cells[{place, row.library()}][row.run_index()] = row;
      continue;
    }
    std::vector<std::string>& containers =
        group.missing[{row.library(), row.reason()}];
    if (std::find(containers.begin(), containers.end(), container) ==
        containers.end()) {
      containers.push_back(container);
    }
  }
  return groups;
}

// The median with its interval, if there is one.
std::string MedianText(std::vector<double> values) {
  if (values.empty()) return "";
  const Summary summary = Summarize(absl::MakeSpan(values));
  std::string text = SignificantText(summary.median);
  if (summary.interval.has_value()) {
    absl::StrAppend(&text, " [", SignificantText(summary.interval->low), ", ",
                    SignificantText(summary.interval->high), "]");
  }
  return text;
}

std::vector<double> ValuesOf(const Runs& runs,
                             const std::function<double(const Row&)>& value) {
  std::vector<double> values;
  for (const auto& run : runs) values.push_back(value(run.second));
  return values;
}

// The ratio to loads of files, if the runs are evidence for one.
std::string ContainerRatio(const Runs& runs, const Runs& base) {
  std::vector<double> ratios;
  int disturbed = 0;
  for (const auto& [index, row] : runs) {
    const auto other = base.find(index);
    if (other == base.end()) continue;
    ratios.push_back(row.throughput() / other->second.throughput());
    const bool clean =
        DisturbancesOf(row).empty() && DisturbancesOf(other->second).empty();
    disturbed += clean ? 0 : 1;
  }
  if (ratios.empty()) return "";
  const double all = static_cast<double>(ratios.size());
  if (disturbed > kDisturbedShare * all) return "disturbed";
  if (ratios.size() < 3) return "few runs";
  return MedianText(std::move(ratios));
}

std::vector<std::string> ContainerCells(const std::string& container,
                                        const std::string& library,
                                        const Runs& runs, const Runs& base) {
  const auto median = [&](const std::function<double(const Row&)>& value) {
    std::vector<double> values = ValuesOf(runs, value);
    return SignificantText(Summarize(absl::MakeSpan(values)).median);
  };
  const Row& first = runs.begin()->second;
  const std::vector<double> memory =
      ValuesOf(runs, [](const Row& row) { return row.rss_peak_bytes() / 1e6; });
  return {container,
          library,
          MedianText(
              ValuesOf(runs, [](const Row& row) { return row.throughput(); })),
          ContainerRatio(runs, base),
          median([](const Row& row) { return row.loader().first_batch_s(); }),
          SignificantText(*std::max_element(memory.begin(), memory.end())),
          SignificantText(first.dataset().bytes() / 1e6),
          median([](const Row& row) {
            return row.loader().bytes_in() / 1e6 /
                   std::max(row.loader().epochs(), 1);
          }),
          first.loader().has_random_item_s() ? median([](const Row& row) {
            return 1e3 * row.loader().random_item_s();
          })
                                             : "no"};
}

std::string TextOf(const ContainerGroup& group) {
  const Align right = Align::kRight;
  Table table({"container", "loader", "images/s [95%]", "/ native files [95%]",
               "first s", "PSS MB", "size MB", "read MB", "random ms"},
              {Align::kLeft, Align::kLeft, right, right, right, right, right,
               right, right});
  const auto base = group.cells.find({0, "native"});
  for (const auto& [key, runs] : group.cells) {
    table.AddRow(
        ContainerCells(ContainerOf(runs.begin()->second), key.second, runs,
                       base == group.cells.end() ? Runs() : base->second));
  }
  std::string text = absl::StrCat(group.title, "\n");
  if (!table.empty()) absl::StrAppend(&text, table.ToText());
  for (const auto& [key, containers] : group.missing) {
    absl::StrAppend(&text, "not measured: ", key.first, " on ",
                    absl::StrJoin(containers, ", "), ": ", key.second, "\n");
  }
  return text;
}

}  // namespace

std::string ContainersText(const std::vector<Row>& rows) {
  std::string text;
  for (const ContainerGroup& group : GroupByContainer(rows)) {
    absl::StrAppend(&text, TextOf(group));
  }
  return text;
}

}  // namespace feedrate
