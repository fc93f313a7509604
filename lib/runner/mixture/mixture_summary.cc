#include "lib/runner/mixture/mixture_summary.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "lib/records/records.pb.h"
#include "lib/stats/quantiles.h"
#include "lib/stats/summary.h"

namespace feedrate {
namespace {

// One setting of one library.
struct Point {
  std::string library;
  std::map<std::string, std::string> settings;
  std::map<int, double> runs;  // Samples a second by run index.
};

// Those that have a row, in the order of `job_ids`.
std::vector<Point> PointsOf(const std::vector<Row>& rows,
                            const std::vector<std::string>& job_ids) {
  std::map<std::string, Point> by_job;
  for (const Row& row : rows) {
    Point& point = by_job[row.job_id()];
    point.library = row.library();
    point.settings = {row.settings().begin(), row.settings().end()};
    point.settings["batch_size"] = absl::StrCat(row.batch_size());
    if (row.status() == "ok") point.runs[row.run_index()] = row.throughput();
  }
  std::vector<Point> points;
  for (const std::string& job_id : job_ids) {
    auto node = by_job.extract(job_id);
    if (!node.empty()) points.push_back(std::move(node.mapped()));
  }
  return points;
}

// Settings that are not the same everywhere.
std::set<std::string> Varied(const std::vector<Point>& points) {
  std::set<std::string> names;
  for (const Point& point : points) {
    for (const auto& [name, value] : point.settings) {
      const auto first = points[0].settings.find(name);
      if (first == points[0].settings.end() || first->second != value) {
        names.insert(name);
      }
    }
  }
  return names;
}

std::string NameOf(const Point& point, const std::set<std::string>& varied) {
  std::string name = point.library;
  for (const auto& [setting, value] : point.settings) {
    if (varied.count(setting) > 0)
      absl::StrAppend(&name, " ", setting, "=", value);
  }
  return name;
}

std::string ComparedText(const Point& point, const Point& first) {
  std::vector<double> ratios;
  for (const auto& [run, throughput] : point.runs) {
    const auto other = first.runs.find(run);
    if (other != first.runs.end() && other->second > 0) {
      ratios.push_back(throughput / other->second);
    }
  }
  if (ratios.empty()) return ", no run in common with the first";
  const double median = Median(ratios);
  const absl::optional<Interval> interval =
      MedianInterval(absl::MakeSpan(ratios));
  if (!interval.has_value()) {
    return absl::StrFormat(", %.2f of the first in %d runs: too few to tell",
                           median, ratios.size());
  }
  const bool apart = interval->low > 1 || interval->high < 1;
  return absl::StrFormat(", %.2f [%.2f, %.2f] of the first%s", median,
                         interval->low, interval->high,
                         apart ? "" : ": no difference shown");
}

}  // namespace

std::string MixtureSummary(const std::vector<Row>& rows,
                           const std::vector<std::string>& job_ids) {
  const std::vector<Point> points = PointsOf(rows, job_ids);
  if (points.size() < 2) return "";
  const std::set<std::string> varied = Varied(points);
  std::string text;
  for (const Point& point : points) {
    const std::string name = NameOf(point, varied);
    if (point.runs.empty()) {
      absl::StrAppend(&text, name, ": no run is ok; its rows say why\n");
      continue;
    }
    std::vector<double> rates;
    for (const auto& run : point.runs) rates.push_back(run.second);
    absl::StrAppendFormat(&text, "%s: %.0f samples/s", name, Median(rates));
    if (&point != &points[0]) {
      absl::StrAppend(&text, ComparedText(point, points[0]));
    }
    absl::StrAppend(&text, "\n");
  }
  return text;
}

}  // namespace feedrate
