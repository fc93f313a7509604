#include "lib/analysis/aggregate/run_aggregate.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "lib/analysis/aggregate/aggregate.h"
#include "lib/analysis/aggregate/aggregate_records.h"
#include "lib/analysis/aggregate/aggregate_table.h"
#include "lib/analysis/aggregate/executions_of_rows.h"
#include "lib/analysis/aggregate/grid.h"
#include "lib/analysis/aggregate/jobs_of_rows.h"
#include "lib/analysis/rows/fields.h"
#include "lib/analysis/rows/row_files.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/base/tool/exit_code.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/load.h"
#include "lib/imports/imports.h"
#include "lib/records/attempts.h"
#include "lib/records/env.pb.h"
#include "lib/records/job.pb.h"
#include "lib/records/json.h"
#include "lib/records/record_io.h"
#include "lib/records/row.pb.h"
#include "lib/records/summary.pb.h"
#include "lib/stats/winner.h"

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

const Catalogue* Policies::Load() {
  if (!tried_) {
    tried_ = true;
    const absl::StatusOr<std::string> folder =
        FindConfigsFolder(configs_folder_, "");
    if (folder.ok()) {
      absl::StatusOr<Catalogue> loaded = Catalogue::Load(*folder);
      if (loaded.ok()) catalogue_.emplace(*std::move(loaded));
    }
  }
  return catalogue_.has_value() ? &*catalogue_ : nullptr;
}

std::string Policies::SlowMarker(const std::string& scenario,
                                 const std::string& unit, double slow_from_s) {
  const Catalogue* catalogue = Load();
  if (catalogue == nullptr) return "slow";
  const Scenario* found = catalogue->FindScenario(scenario);
  const MediaPolicy* media =
      catalogue->FindMedia(found == nullptr ? unit : found->media());
  return media != nullptr && slow_from_s >= media->slow_threshold_s()
             ? media->slow_marker()
             : "slow";
}

std::string Policies::ProgramFor(const std::string& scenario,
                                 const std::string& mode) {
  const Catalogue* catalogue = Load();
  const Scenario* found =
      catalogue == nullptr ? nullptr : catalogue->FindScenario(scenario);
  const auto* policy =
      found == nullptr ? nullptr : catalogue->FindMode(mode, found->media());
  return policy == nullptr ? mode : policy->tool();
}

namespace {

// A value of the group that is the same in all its rows; empty if unknown.
std::string ValueOf(const Aggregate& aggregate, const std::string& field) {
  const auto by = aggregate.by().find(field);
  if (by != aggregate.by().end()) return by->second;
  const auto held = aggregate.held().find(field);
  return held == aggregate.held().end() ? "" : held->second;
}

const std::vector<std::string>& Formats() {
  static const auto* const kFormats = new std::vector<std::string>{
      "table", "markdown", "csv", "latex", "json", "jsonl"};
  return *kFormats;
}

absl::Status CheckChoices(const AggregateRun& run) {
  RETURN_IF_ERROR(CheckChoice("--format", run.format, Formats()));
  if (!run.import.harness.empty()) {
    RETURN_IF_ERROR(CheckChoice("--import", run.import.harness, ImportNames()));
  }
  const std::vector<std::string>& by = run.options.by;
  if (run.runs_needed &&
      std::find(by.begin(), by.end(), "library") == by.end()) {
    return absl::InvalidArgumentError(
        "--runs_needed compares libraries; add library to --by");
  }
  return absl::OkStatus();
}

// What there is to read.
struct Inputs {
  // Files of records, folders of them, or `-`.
  std::vector<std::string> rows;
  // Results of other harnesses.
  std::vector<std::string> imports;
};

bool HasRecords(const std::string& folder) {
  const absl::StatusOr<std::vector<std::string>> files =
      ListPlainFiles(folder, ".jsonl");
  return files.ok() && !files->empty();
}

Inputs SortInputs(const AggregateRun& run) {
  Inputs inputs;
  for (const std::string& path :
       run.paths.empty() ? std::vector<std::string>{"-"} : run.paths) {
    const bool has_records =
        IsFolder(path) ? HasRecords(path) : absl::EndsWith(path, ".jsonl");
    const bool is_import =
        run.import.harness.empty()
            ? !has_records && !DetectHarnessOfPath(path).empty()
            : !has_records ||
                  (IsFolder(path) &&
                   DetectHarnessOfPath(path, run.import.harness) != "");
    if (is_import) inputs.imports.push_back(path);
    if (has_records || !is_import) inputs.rows.push_back(path);
  }
  return inputs;
}

absl::Status ReadImports(const AggregateRun& run,
                         const std::vector<std::string>& paths,
                         const Importer::AddRow& add) {
  Importer importer(run.import, add);
  for (const std::string& path : paths) {
    RETURN_IF_ERROR(importer.ReadPath(path));
  }
  if (importer.left_out() > 0) {
    run.warn(absl::StrCat(importer.left_out(),
                          " results are no times and are left out"));
  }
  return absl::OkStatus();
}

// Reads whole rows one by one, for options that need them. Returns how many
// records are refused.
absl::StatusOr<int64_t> ReadThoroughly(const AggregateRun& run,
                                       const Inputs& inputs,
                                       RowAggregator* aggregator,
                                       JobsOfRows* jobs,
                                       ExecutionsOfRows* executions) {
  const auto add = [&](const Row& row) -> absl::Status {
    jobs->Add(row);
    if (run.elsewhere) executions->Add(row);
    return aggregator->Add(row);
  };
  Row row;
  Run head;
  Env env;
  RecordReader reader(
      [&](absl::string_view record, JsonReader& json) -> absl::Status {
        if (record == "run") {
          RETURN_IF_ERROR(json.Read(&head));
          jobs->AddRun(head);
          executions->AddRun(head);
        }
        if (record == "env" && run.elsewhere) {
          RETURN_IF_ERROR(json.Read(&env));
          executions->AddEnv(env);
        }
        if (record != "row") return absl::OkStatus();
        RETURN_IF_ERROR(json.Read(&row));
        return add(row);
      },
      run.warn);
  ASSIGN_OR_RETURN(const std::vector<std::string> files,
                   ExpandPaths(inputs.rows, {".jsonl"}));
  for (const std::string& file : files) {
    executions->StartFile();
    RETURN_IF_ERROR(reader.ReadFile(file));
  }
  RETURN_IF_ERROR(ReadImports(run, inputs.imports, add));
  return reader.refused_records();
}

std::string JobsText(const AggregateRun& run, const AggregateResult& result,
                     const JobsOfRows& jobs) {
  const std::vector<CloseCall> calls = CloseCalls(result.aggregates);
  for (const CloseCall& call : calls) {
    std::string place;
    for (const std::string& field : result.by) {
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
  for (const Job& job : jobs.Missing(calls, result.by)) {
    AppendRecord(job, &text);
  }
  if (text.empty()) {
    run.warn(
        "more runs would separate no two libraries; --rerun_noisy names jobs "
        "whose runs were disturbed");
  }
  return text;
}

absl::StatusOr<std::string> AgainText(const AggregateRun& run,
                                      const JobsOfRows& jobs) {
  std::vector<std::string> problems;
  std::string text;
  for (const Job& job : jobs.Again(run.again, &problems)) {
    AppendRecord(job, &text);
  }
  for (const std::string& problem : problems) run.warn(problem);
  if (!text.empty()) return text;
  return absl::InvalidArgumentError(
      problems.empty()
          ? absl::StrCat("--again: no row is of the job \"", run.again, "\"")
          : "--again: none of the rows can be repeated");
}

std::string RerunText(const AggregateRun& run, const JobsOfRows& jobs) {
  std::string text;
  for (const Job& job : jobs.Disturbed()) AppendRecord(job, &text);
  if (text.empty()) {
    run.warn("no run was noisy, contended or throttled; nothing to repeat");
  }
  return text;
}

// How many runs were disturbed, and how to measure them again; nothing if none
// was.
std::vector<std::string> NoiseNotes(const AggregateRun& run,
                                    const AggregateResult& result,
                                    Policies* policies) {
  int64_t runs = 0;
  int64_t disturbed = 0;
  std::map<std::string, int64_t> causes;
  // Programs by mode.
  std::map<std::string, std::string> programs;
  for (const Aggregate& aggregate : result.aggregates) {
    runs += aggregate.runs();
    disturbed += aggregate.disturbed();
    for (const auto& [cause, count] : aggregate.disturbances()) {
      causes[cause] += count;
    }
    if (aggregate.disturbed() == 0) continue;
    const std::string mode = ValueOf(aggregate, "mode");
    const std::string program =
        policies->ProgramFor(ValueOf(aggregate, "scenario"), mode);
    // The harness's own rows are no program's job.
    if (!program.empty()) programs[mode] = program;
  }
  if (disturbed == 0) return {};
  std::vector<std::string> parts;
  for (const auto& [cause, count] : causes) {
    parts.push_back(absl::StrCat(count, " ", cause));
  }
  std::vector<std::string> notes = {absl::StrCat(
      "noise: ", disturbed, " of ", runs,
      runs == 1 ? " run was disturbed (" : " runs were disturbed (",
      absl::StrJoin(parts, ", "),
      "); a group with more than one disturbed run in five is not ranked")};
  for (const auto& [mode, program] : programs) {
    std::string where = run.options.where;
    if (programs.size() > 1) {
      where =
          absl::StrCat(where.empty() ? "" : absl::StrCat("(", where, ") && "),
                       "mode==\"", mode, "\"");
    }
    notes.push_back(absl::StrCat(
        "measure them again: ",
        RerunCommand(
            absl::StrCat(ProgramCommand("aggregate"), " --rerun_noisy",
                         run.options.split
                             ? ""
                             : absl::StrCat(" --by=",
                                            absl::StrJoin(run.options.by, ",")),
                         where.empty()
                             ? ""
                             : absl::StrCat(" --where=", ShellWord(where))),
            run.paths, program)));
  }
  return notes;
}

absl::StatusOr<std::string> Render(const AggregateRun& run,
                                   const AggregateResult& result,
                                   const std::vector<std::string>& notes) {
  const bool is_for_people = run.format == "table" ||
                             run.format == "markdown" || run.format == "latex";
  if (!is_for_people) {
    for (const std::string& note : notes) run.warn(note);
  }
  if (run.format == "json") return RenderJson(result);
  if (run.format == "jsonl") return RenderJsonl(result);
  if (run.format == "csv" && run.pivot.empty()) {
    return RenderCsv(FullGrid(result, result.by));
  }
  std::string text;
  std::vector<AggregateResult> parts = SplitByUnit(result);
  if (run.format == "csv" && parts.size() > 1) {
    return absl::FailedPreconditionError(
        "--pivot: a CSV table has one unit, these rows have several; choose "
        "one with --where, such as --where='unit==\"image\"'");
  }
  if (is_for_people) {
    std::vector<AggregateResult> smaller;
    for (const AggregateResult& part : parts) {
      for (AggregateResult& one : SplitBySuite(part)) {
        smaller.push_back(std::move(one));
      }
    }
    parts = std::move(smaller);
  }
  for (const AggregateResult& part : parts) {
    Grid grid;
    if (run.pivot.empty()) {
      grid = PlainGrid(part, result.by);
    } else {
      ASSIGN_OR_RETURN(grid, PivotGrid(part, result.by, run.pivot));
    }
    if (&part == &parts.back()) {
      grid.notes.insert(grid.notes.end(), notes.begin(), notes.end());
    }
    absl::StrAppend(&text, text.empty() ? "" : "\n",
                    run.format == "csv"        ? RenderCsv(grid)
                    : run.format == "markdown" ? RenderMarkdown(grid)
                    : run.format == "latex"    ? RenderLatex(grid)
                                               : RenderTable(grid, run.color));
  }
  return text;
}

void WarnOf(const AggregateRun& run, const AggregateResult& result) {
  if (result.duplicates > 0) {
    run.warn(absl::StrCat(
        result.duplicates,
        result.duplicates == 1 ? " row repeats" : " rows repeat",
        " an attempt at a run that another row has; the cleanest, or else the "
        "last, counts"));
  }
  if (result.broken_lines > 0) {
    run.warn(absl::StrCat(result.broken_lines,
                          result.broken_lines == 1 ? " line is" : " lines are",
                          " broken; all others are used"));
  }
}

// What a table is told about records that it lacks; also makes exit 1.
std::string RefusedNote(int64_t records) {
  return absl::StrCat(Counted(records, "record"), records == 1 ? " is" : " are",
                      " refused and not used; mend or delete the lines that "
                      "are named on standard error");
}

// Whatever name a setting has, some row should have it.
absl::Status CheckSettings(const AggregateResult& result) {
  for (const std::string& field : result.by) {
    if (!absl::StartsWith(field, "settings.")) continue;
    bool is_known = false;
    for (const Aggregate& aggregate : result.aggregates) {
      const std::string value = ValueOf(aggregate, field);
      is_known = is_known || (!value.empty() && value != "-");
    }
    if (!is_known) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--by: no row has ", field, "; --by=settings shows which there are"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<AggregateAnswer> RunAggregate(AggregateRun run) {
  RETURN_IF_ERROR(CheckChoices(run));
  Policies policies(run.configs_folder);
  run.options.slow_marker = [&](const std::string& scenario,
                                const std::string& unit, double slow_from_s) {
    return policies.SlowMarker(scenario, unit, slow_from_s);
  };
  run.options.complain = run.warn;
  ASSIGN_OR_RETURN(const std::unique_ptr<RowAggregator> aggregator,
                   RowAggregator::Create(run.options));
  ASSIGN_OR_RETURN(JobsOfRows jobs, JobsOfRows::Create(run.options.where));
  ASSIGN_OR_RETURN(ExecutionsOfRows executions,
                   ExecutionsOfRows::Create(run.options));
  const Inputs inputs = SortInputs(run);
  int64_t refused = 0;
  if (run.runs_needed || run.rerun_noisy || run.repeats || run.elsewhere) {
    ASSIGN_OR_RETURN(refused, ReadThoroughly(run, inputs, aggregator.get(),
                                             &jobs, &executions));
  } else {
    if (!inputs.rows.empty()) {
      RETURN_IF_ERROR(aggregator->ReadPaths(inputs.rows));
    }
    RETURN_IF_ERROR(ReadImports(run, inputs.imports, [&](const Row& row) {
      return aggregator->Add(row);
    }));
  }
  ASSIGN_OR_RETURN(AggregateResult result, aggregator->Finish());
  WarnOf(run, result);
  refused += result.refused_records;
  const ExitCode code =
      refused == 0 ? ExitCode::kDone : ExitCode::kCallersMistake;
  const bool has_table =
      result.used > 0 && !run.rerun_noisy && !run.runs_needed && !run.repeats;
  if (refused > 0 && !has_table) run.warn(RefusedNote(refused));
  if (result.used == 0) {
    run.warn(result.rows == 0 ? "no row in the input"
                              : absl::StrCat("--where leaves none of ",
                                             Counted(result.rows, "row")));
    return AggregateAnswer{
        "", refused == 0 ? ExitCode::kInvalid : ExitCode::kCallersMistake};
  }
  RETURN_IF_ERROR(CheckSettings(result));
  if (run.rerun_noisy) return AggregateAnswer{RerunText(run, jobs), code};
  if (run.repeats) {
    ASSIGN_OR_RETURN(std::string text, AgainText(run, jobs));
    return AggregateAnswer{std::move(text), code};
  }
  if (run.runs_needed) {
    return AggregateAnswer{JobsText(run, result, jobs), code};
  }
  RETURN_IF_ERROR(SortAggregates(run.sort, result.by, &result.aggregates));
  std::vector<std::string> notes = NoiseNotes(run, result, &policies);
  if (run.elsewhere) notes.push_back(executions.Fill(&result));
  if (refused > 0) notes.insert(notes.begin(), RefusedNote(refused));
  ASSIGN_OR_RETURN(std::string text, Render(run, result, notes));
  return AggregateAnswer{std::move(text), code};
}

}  // namespace feedrate
