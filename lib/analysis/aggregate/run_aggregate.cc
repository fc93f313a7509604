#include "lib/analysis/aggregate/run_aggregate.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "lib/analysis/aggregate/aggregate.h"
#include "lib/analysis/aggregate/aggregate_table.h"
#include "lib/analysis/aggregate/import_albumentations.h"
#include "lib/analysis/rows/fields.h"
#include "lib/analysis/rows/filter.h"
#include "lib/analysis/rows/row_files.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/base/tool/exit_code.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/load.h"
#include "lib/records/job.pb.h"
#include "lib/records/job_identity.h"
#include "lib/records/json.h"
#include "lib/records/record_io.h"
#include "lib/records/row.pb.h"
#include "lib/records/summary.pb.h"
#include "lib/stats/summary.h"

namespace feedrate {
namespace {

using Number = std::function<absl::optional<double>(const Aggregate&)>;

template <typename Has, typename Get>
Number If(Has has, Get get) {
  return [=](const Aggregate& a) -> absl::optional<double> {
    if (!(a.*has)()) return absl::nullopt;
    return static_cast<double>((a.*get)());
  };
}

const std::map<std::string, Number>& Numbers() {
  static const auto* const kNumbers = new std::map<std::string, Number>{
      {"runs",
       [](const Aggregate& a) -> absl::optional<double> {
         return static_cast<double>(a.runs());
       }},
      {"median", If(&Aggregate::has_median, &Aggregate::median)},
      {"mean", If(&Aggregate::has_mean, &Aggregate::mean)},
      {"sd", If(&Aggregate::has_sd, &Aggregate::sd)},
      {"cv", If(&Aggregate::has_cv, &Aggregate::cv)},
      {"min", If(&Aggregate::has_min, &Aggregate::min)},
      {"max", If(&Aggregate::has_max, &Aggregate::max)},
      {"rank", If(&Aggregate::has_rank, &Aggregate::rank)},
      {"ratio",
       [](const Aggregate& a) -> absl::optional<double> {
         if (!a.speed_up().has_ratio()) return absl::nullopt;
         return a.speed_up().ratio();
       }},
  };
  return *kNumbers;
}

Value ByValue(const Aggregate& aggregate, const std::string& field) {
  const std::string& text = aggregate.by().at(field);
  if (text == "-") return Value();
  return NumberOrText(text);
}

using Less = std::function<bool(const Aggregate&, const Aggregate&)>;

Less ByNumber(Number number, bool descending) {
  return [=](const Aggregate& a, const Aggregate& b) {
    const absl::optional<double> one = number(a);
    const absl::optional<double> other = number(b);
    if (!one.has_value() || !other.has_value()) {
      return one.has_value() && !other.has_value();
    }
    return descending ? *one > *other : *one < *other;
  };
}

Less ByField(std::string field, bool descending) {
  return [=](const Aggregate& a, const Aggregate& b) {
    const Value one = ByValue(a, field);
    const Value other = ByValue(b, field);
    return descending ? ValueLess(other, one) : ValueLess(one, other);
  };
}

}  // namespace

absl::Status SortAggregates(const std::vector<std::string>& keys,
                            const std::vector<std::string>& by,
                            std::vector<Aggregate>* aggregates) {
  std::vector<Less> orders;
  for (const std::string& key : keys) {
    const bool descending = !key.empty() && key[0] == '-';
    const std::string name = descending ? key.substr(1) : key;
    const auto number = Numbers().find(name);
    if (std::find(by.begin(), by.end(), name) != by.end()) {
      orders.push_back(ByField(name, descending));
    } else if (number != Numbers().end()) {
      orders.push_back(ByNumber(number->second, descending));
    } else {
      std::vector<std::string> names = by;
      for (const auto& known : Numbers()) names.push_back(known.first);
      return absl::InvalidArgumentError(
          absl::StrCat("--sort: \"", name,
                       "\" is neither a field of --by nor a column of numbers",
                       DidYouMean(name, names)));
    }
  }
  // Sorts by the last key first: each stable sort keeps the order of the
  // previous.
  for (auto order = orders.rbegin(); order != orders.rend(); ++order) {
    std::stable_sort(aggregates->begin(), aggregates->end(), *order);
  }
  return absl::OkStatus();
}

std::string SlowMarkers::For(const std::string& scenario,
                             const std::string& unit) {
  if (!tried_) {
    tried_ = true;
    const absl::StatusOr<std::string> folder =
        FindConfigsFolder(configs_folder_, "");
    if (folder.ok()) {
      absl::StatusOr<Catalogue> loaded = Catalogue::Load(*folder);
      if (loaded.ok()) catalogue_.emplace(*std::move(loaded));
    }
  }
  if (!catalogue_.has_value()) return "slow";
  const Scenario* found = catalogue_->FindScenario(scenario);
  const MediaPolicy* media =
      catalogue_->FindMedia(found == nullptr ? unit : found->media());
  return media == nullptr ? "slow" : media->slow_marker();
}

namespace {

// For normal data, the standard error of the median is sqrt(pi / 2) that of the
// mean.
constexpr double kMedianOverMean = 1.2533;

// Standard deviation of the logarithms of runs.
double LogDeviationOf(const Aggregate& aggregate) {
  // One or two runs do not show it: assumes the largest that is not `unstable`.
  const double cv = aggregate.runs() < kMinRunsForInterval
                        ? AggregateOptions().unstable_cv
                        : aggregate.cv();
  return std::sqrt(std::log1p(cv * cv));
}

// Half the average width of an interval of `n` runs, in logarithms.
double HalfWidth(const Aggregate& aggregate, int64_t n) {
  const double t = StudentTQuantile(0.975, static_cast<double>(n - 1));
  return t * LogDeviationOf(aggregate) / std::sqrt(static_cast<double>(n)) *
         (n < kManyRuns ? 1 : kMedianOverMean);
}

// Whether `n` runs each should separate the two. A group that already has more
// runs keeps them.
bool Separates(int64_t n, const Aggregate& faster, const Aggregate& slower) {
  return HalfWidth(faster, std::max(n, faster.runs())) +
             HalfWidth(slower, std::max(n, slower.runs())) <
         std::log(faster.median() / slower.median());
}

bool IsClose(const Aggregate& faster, const Aggregate& slower) {
  if (faster.has_interval() && slower.has_interval()) {
    return faster.interval().low() <= slower.interval().high();
  }
  return !Separates(kMinRunsForInterval, faster, slower);
}

int64_t RunsFor(const Aggregate& faster, const Aggregate& slower) {
  const int64_t now = std::min(faster.runs(), slower.runs());
  for (const int64_t n : kRunLadder) {
    if (n <= now) continue;
    // The deviation is not known before three runs.
    if (now < kMinRunsForInterval) return n;
    if (Separates(n, faster, slower)) return n;
  }
  return 0;
}

std::string KeyOf(const Aggregate& aggregate, const std::vector<Field>& by) {
  std::string key;
  for (const Field& field : by) {
    AppendKey(aggregate.by().at(field.name), &key);
  }
  return key;
}

}  // namespace

std::vector<CloseCall> CloseCalls(const std::vector<Aggregate>& aggregates) {
  std::map<std::string, std::vector<const Aggregate*>> blocks;
  for (const Aggregate& aggregate : aggregates) {
    if (aggregate.has_median() && aggregate.median() > 0) {
      blocks[BlockOf(aggregate)].push_back(&aggregate);
    }
  }
  std::vector<CloseCall> calls;
  for (auto& [key, block] : blocks) {
    std::stable_sort(block.begin(), block.end(),
                     [](const Aggregate* a, const Aggregate* b) {
                       return a->median() > b->median();
                     });
    for (size_t i = 1; i < block.size(); ++i) {
      if (!IsClose(*block[i - 1], *block[i])) continue;
      calls.push_back(
          {block[i - 1], block[i], RunsFor(*block[i - 1], *block[i])});
    }
  }
  return calls;
}

absl::StatusOr<JobsOfGroups> JobsOfGroups::Create(
    const std::vector<std::string>& by, const std::string& where) {
  JobsOfGroups jobs;
  for (const std::string& name : by) {
    ASSIGN_OR_RETURN(Field field, FindField(name));
    jobs.by_.push_back(std::move(field));
  }
  ASSIGN_OR_RETURN(jobs.filter_, Filter::Parse(where));
  return jobs;
}

void JobsOfGroups::Add(const Row& row) {
  if (row.job_id().empty() || !filter_.Matches(row)) return;
  std::string key;
  for (const Field& field : by_) {
    AppendKey(ValueText(FieldOf(row, field)), &key);
  }
  Known& known = groups_[key][row.job_id()];
  if (known.rows++ == 0) known.job = JobOfRow(row);
  known.duration_s += row.duration_s();
  if (row.status() == "ok") known.done.insert(row.run_index());
}

std::vector<Job> JobsOfGroups::Missing(
    const std::vector<CloseCall>& calls) const {
  // If a group is in two calls, the larger number counts.
  std::map<std::string, int64_t> runs;
  std::vector<std::string> order;
  for (const CloseCall& call : calls) {
    if (call.runs == 0) continue;
    for (const Aggregate* aggregate : {call.faster, call.slower}) {
      const std::string key = KeyOf(*aggregate, by_);
      if (runs.find(key) == runs.end()) order.push_back(key);
      runs[key] = std::max(runs[key], call.runs);
    }
  }
  std::vector<Job> missing;
  std::set<std::string> written;
  for (const std::string& key : order) {
    const auto group = groups_.find(key);
    if (group == groups_.end()) continue;
    const int64_t jobs = static_cast<int64_t>(group->second.size());
    const int64_t each = (runs[key] + jobs - 1) / jobs;
    for (const auto& [job_id, known] : group->second) {
      if (!written.insert(job_id).second) continue;
      Job job = known.job;
      for (int32_t index = 0; index < each; ++index) {
        if (known.done.count(index) == 0) job.add_run_indexes(index);
      }
      if (job.run_indexes_size() == 0) continue;
      job.set_cost_s(known.duration_s / static_cast<double>(known.rows) *
                     job.run_indexes_size());
      job.set_output(ResultFileName(job, static_cast<int>(each)));
      missing.push_back(std::move(job));
    }
  }
  return missing;
}

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

// Reads whole rows one by one, for options that need them.
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
  return RenderTable(grid, run.color);
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
