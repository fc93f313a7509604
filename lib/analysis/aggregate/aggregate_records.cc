#include "lib/analysis/aggregate/aggregate_records.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/message.h"
#include "lib/analysis/aggregate/compare_groups.h"
#include "lib/analysis/aggregate/grid.h"
#include "lib/records/json.h"
#include "lib/records/summary.pb.h"

namespace feedrate {
namespace {

std::string Full(double value) {
  std::string text;
  AppendJsonDouble(value, &text);
  return text;
}

}  // namespace

std::string EndedText(const Aggregate& aggregate) {
  std::vector<std::string> parts;
  for (const EndedRuns& ended : aggregate.ended()) {
    parts.push_back(absl::StrCat(ended.runs(), " ", ended.status(),
                                 ended.reason().empty() ? "" : ": ",
                                 ended.reason()));
  }
  return absl::StrJoin(parts, "; ");
}

Grid FullGrid(const AggregateResult& result,
              const std::vector<std::string>& by) {
  Grid grid;
  for (const std::string& field : by) grid.header.push_back(LeftCell(field));
  for (const char* name : {"status",
                           "runs",
                           "median",
                           "mean",
                           "sd",
                           "cv",
                           "min",
                           "max",
                           "low",
                           "high",
                           "p50_s",
                           "p90_s",
                           "p99_s",
                           "unit",
                           "equivalence",
                           "rank",
                           "tied",
                           "relative_to",
                           "ratio",
                           "ratio_low",
                           "ratio_high",
                           "retries",
                           "flags",
                           "ended",
                           "metric",
                           "disturbed",
                           "fastest",
                           "evidence",
                           "runs_needed",
                           "elsewhere_low",
                           "elsewhere_high",
                           "elsewhere_over"}) {
    grid.header.push_back(LeftCell(name));
  }
  for (const Aggregate& a : result.aggregates) {
    std::vector<GridCell>& row = grid.rows.emplace_back();
    const auto add = [&](std::string text) {
      row.push_back(LeftCell(std::move(text)));
    };
    const auto number = [&](bool has, double value) {
      add(has ? Full(value) : "");
    };
    for (const std::string& field : by) add(a.by().at(field));
    add(a.status());
    add(absl::StrCat(a.runs()));
    number(a.has_median(), a.median());
    number(a.has_mean(), a.mean());
    number(a.has_sd(), a.sd());
    number(a.has_cv(), a.cv());
    number(a.has_min(), a.min());
    number(a.has_max(), a.max());
    number(a.has_interval(), a.interval().low());
    number(a.has_interval(), a.interval().high());
    number(a.has_p50_s(), a.p50_s());
    number(a.has_p90_s(), a.p90_s());
    number(a.has_p99_s(), a.p99_s());
    add(a.unit());
    add(a.equivalence());
    add(a.has_rank() ? absl::StrCat(a.rank()) : "");
    add(a.has_rank() ? (a.tied() ? "true" : "false") : "");
    add(a.speed_up().relative_to());
    number(a.speed_up().has_ratio(), a.speed_up().ratio());
    number(a.speed_up().has_low(), a.speed_up().low());
    number(a.speed_up().has_high(), a.speed_up().high());
    add(absl::StrCat(a.retries()));
    add(absl::StrJoin(a.flags(), " "));
    add(EndedText(a));
    add(a.metric().empty() ? "throughput" : a.metric());
    add(absl::StrCat(a.disturbed()));
    add(a.fastest() ? "true" : "false");
    add(a.evidence());
    add(absl::StrCat(a.runs_needed()));
    number(a.has_elsewhere(), a.elsewhere().low());
    number(a.has_elsewhere(), a.elsewhere().high());
    add(a.elsewhere().repeated());
  }
  return grid;
}

namespace {

// Appends a record as a JSON array element, without its newline.
void AppendElement(const google::protobuf::Message& record, bool first,
                   std::string* out) {
  if (!first) out->append(",\n");
  AppendRecord(record, out);
  out->pop_back();
}

}  // namespace

std::string RenderJsonl(const AggregateResult& result) {
  std::string text;
  for (const Aggregate& aggregate : result.aggregates) {
    AppendRecord(aggregate, &text);
  }
  for (const MeanSpeedUp& mean : result.means) AppendRecord(mean, &text);
  return text;
}

std::string RenderJson(const AggregateResult& result) {
  std::string text = "{\"aggregates\":[\n";
  for (const Aggregate& aggregate : result.aggregates) {
    AppendElement(aggregate, &aggregate == result.aggregates.data(), &text);
  }
  text += "],\n\"mean_speed_ups\":[\n";
  for (const MeanSpeedUp& mean : result.means) {
    AppendElement(mean, &mean == result.means.data(), &text);
  }
  return text + "]}\n";
}

}  // namespace feedrate
