#include "lib/analysis/run_aggregate.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "lib/analysis/aggregate.h"
#include "lib/analysis/grid.h"
#include "lib/analysis/import_albumentations.h"
#include "lib/analysis/render.h"
#include "lib/analysis/row_paths.h"
#include "lib/analysis/runs_needed.h"
#include "lib/analysis/slow_marker.h"
#include "lib/analysis/sort_aggregates.h"
#include "lib/base/exit_code.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/records/json.h"
#include "lib/records/record_io.h"
#include "lib/records/records.pb.h"
#include "lib/stats/summary.h"

namespace feedrate {
namespace {

const std::vector<std::string>& Formats() {
  static const auto* const kFormats = new std::vector<std::string>{
      "table", "markdown", "csv", "latex", "json", "jsonl"};
  return *kFormats;
}

absl::Status CheckChoices(const AggregateRun& run) {
  RETURN_IF_ERROR(CheckChoice("--format", run.format, Formats()));
  if (!run.import.empty()) {
    RETURN_IF_ERROR(CheckChoice("--import", run.import, {"albumentations"}));
  }
  const std::vector<std::string>& by = run.options.by;
  if (run.runs_needed &&
      std::find(by.begin(), by.end(), "library") == by.end()) {
    return absl::InvalidArgumentError(
        "--runs_needed compares libraries; add library to --by");
  }
  return absl::OkStatus();
}

// Reads everything row by row: for what needs whole rows.
absl::Status ReadThoroughly(const AggregateRun& run, RowAggregator* aggregator,
                            JobsOfGroups* jobs) {
  const auto add = [&](const Row& row) -> absl::Status {
    jobs->Add(row);
    return aggregator->Add(row);
  };
  Row row;
  RecordReader reader(
      [&](absl::string_view record, JsonReader& json) -> absl::Status {
        if (record != "row") return absl::OkStatus();
        RETURN_IF_ERROR(json.Read(&row));
        return add(row);
      },
      run.warn);
  std::vector<std::string> endings = {".jsonl"};
  if (!run.import.empty()) endings.push_back(".json");
  ASSIGN_OR_RETURN(const std::vector<std::string> files,
                   ExpandPaths(run.paths, endings));
  for (const std::string& file : files) {
    if (run.import.empty() || !absl::EndsWith(file, ".json")) {
      RETURN_IF_ERROR(reader.ReadFile(file));
    } else if (IsAlbumentationsResult(file)) {
      ASSIGN_OR_RETURN(const std::string content, ReadFile(file));
      RETURN_IF_ERROR(ImportAlbumentations(file, content, add));
    }
  }
  return absl::OkStatus();
}

std::string JobsText(const AggregateRun& run, const AggregateResult& result,
                     const JobsOfGroups& jobs) {
  const std::vector<CloseCall> calls = CloseCalls(result.aggregates);
  for (const CloseCall& call : calls) {
    std::vector<std::string> names;
    std::string place;
    for (const std::string& field : run.options.by) {
      if (field == "library") continue;
      absl::StrAppend(&place, place.empty() ? "" : " ",
                      call.faster->by().at(field));
    }
    const int64_t now = std::min(call.faster->runs(), call.slower->runs());
    run.warn(
        absl::StrCat(place, ": ", call.faster->by().at("library"), " and ",
                     call.slower->by().at("library"), " after ", now,
                     now == 1 ? " run: " : " runs: ",
                     call.runs == 0 ? "20 would not separate them"
                     : now < kMinRunsForInterval
                         ? "3 would show their spread"
                         : absl::StrCat(call.runs, " should separate them")));
  }
  std::string text;
  for (const Job& job : jobs.Missing(calls)) AppendRecord(job, &text);
  return text;
}

absl::StatusOr<std::string> Render(const AggregateRun& run,
                                   const AggregateResult& result) {
  if (run.format == "json") return RenderJson(result);
  if (run.format == "jsonl") return RenderJsonl(result);
  Grid grid;
  if (!run.pivot.empty()) {
    ASSIGN_OR_RETURN(grid, PivotGrid(result, run.options.by, run.pivot));
  } else if (run.format == "csv") {
    grid = FullGrid(result, run.options.by);
  } else {
    grid = PlainGrid(result, run.options.by);
  }
  if (run.format == "csv") return RenderCsv(grid);
  if (run.format == "markdown") return RenderMarkdown(grid);
  if (run.format == "latex") return RenderLatex(grid);
  return RenderTable(grid, run.colour);
}

void WarnOf(const AggregateRun& run, const AggregateResult& result) {
  if (result.duplicates > 0) {
    run.warn(absl::StrCat(
        result.duplicates,
        result.duplicates == 1 ? " row repeats" : " rows repeat",
        " an attempt at a run that another row has; the one measured last "
        "counts"));
  }
  if (result.broken_lines > 0) {
    run.warn(absl::StrCat(result.broken_lines,
                          result.broken_lines == 1 ? " line is" : " lines are",
                          " broken; all others are used"));
  }
}

}  // namespace

absl::StatusOr<AggregateAnswer> RunAggregate(AggregateRun run) {
  RETURN_IF_ERROR(CheckChoices(run));
  if (run.paths.empty()) run.paths.push_back("-");
  SlowMarkers markers(run.configs_folder);
  run.options.slow_marker = [&](const std::string& scenario,
                                const std::string& unit) {
    return markers.For(scenario, unit);
  };
  run.options.complain = run.warn;
  ASSIGN_OR_RETURN(const std::unique_ptr<RowAggregator> aggregator,
                   RowAggregator::Create(run.options));
  ASSIGN_OR_RETURN(JobsOfGroups jobs,
                   JobsOfGroups::Create(run.options.by, run.options.where));
  if (run.runs_needed || !run.import.empty()) {
    RETURN_IF_ERROR(ReadThoroughly(run, aggregator.get(), &jobs));
  } else {
    RETURN_IF_ERROR(aggregator->ReadPaths(run.paths));
  }
  ASSIGN_OR_RETURN(AggregateResult result, aggregator->Finish());
  WarnOf(run, result);
  if (result.used == 0) {
    run.warn(result.rows == 0 ? "no row in the input"
                              : absl::StrCat("--where leaves none of ",
                                             result.rows, " rows"));
    return AggregateAnswer{"", ExitCode::kInvalid};
  }
  if (run.runs_needed) return AggregateAnswer{JobsText(run, result, jobs)};
  RETURN_IF_ERROR(SortAggregates(run.sort, run.options.by, &result.aggregates));
  ASSIGN_OR_RETURN(std::string text, Render(run, result));
  return AggregateAnswer{std::move(text)};
}

}  // namespace feedrate
