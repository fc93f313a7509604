#include "lib/runner/mixture/mixture_summary.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "lib/records/records.pb.h"
#include "lib/stats/median_interval.h"
#include "lib/stats/quantiles.h"

namespace feedrate {
namespace {

// One setting of one library, in the order of their first rows.
struct Point {
  std::string library;
  std::map<std::string, std::string> settings;
  std::map<int, double> runs;  // Samples a second by run index.
};

std::vector<Point> PointsOf(const std::vector<Row>& rows) {
  std::vector<Point> points;
  std::map<std::string, size_t> known;
  for (const Row& row : rows) {
    if (row.status() != "ok" || !row.has_mixture()) continue;
    const auto [entry, is_new] = known.emplace(row.job_id(), points.size());
    if (is_new) {
      Point& point = points.emplace_back();
      point.library = row.library();
      point.settings = {row.settings().begin(), row.settings().end()};
      point.settings["batch_size"] = absl::StrCat(row.batch_size());
    }
    points[entry->second].runs[row.run_index()] = row.throughput();
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

std::string MixtureSummary(const std::vector<Row>& rows) {
  const std::vector<Point> points = PointsOf(rows);
  if (points.size() < 2) return "";
  const std::set<std::string> varied = Varied(points);
  std::string text;
  for (const Point& point : points) {
    std::vector<double> rates;
    for (const auto& run : point.runs) rates.push_back(run.second);
    absl::StrAppendFormat(&text, "%s: %.0f samples/s", NameOf(point, varied),
                          Median(rates));
    if (&point != &points[0]) {
      absl::StrAppend(&text, ComparedText(point, points[0]));
    }
    absl::StrAppend(&text, "\n");
  }
  return text;
}

}  // namespace feedrate
