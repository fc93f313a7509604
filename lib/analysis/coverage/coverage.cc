#include "lib/analysis/coverage/coverage.h"

#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "lib/analysis/aggregate/grid.h"
#include "lib/analysis/coverage/checks.h"
#include "lib/analysis/coverage/findings.h"
#include "lib/analysis/coverage/measured_runs.h"
#include "lib/analysis/coverage/planned_jobs.h"
#include "lib/analysis/rows/row_files.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/load.h"
#include "lib/records/env.pb.h"
#include "lib/records/job.pb.h"
#include "lib/records/record_io.h"
#include "lib/records/row.pb.h"
#include "lib/records/summary.pb.h"

namespace feedrate {
namespace {

absl::StatusOr<std::vector<std::string>> RowFiles(
    const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    if (!IsFolder(path)) {
      files.push_back(path);
      continue;
    }
    ASSIGN_OR_RETURN(const std::vector<std::string> inside,
                     ListPlainFiles(path, ".jsonl"));
    files.insert(files.end(), inside.begin(), inside.end());
  }
  return files;
}

// Reads files into MeasuredRuns, and turns damaged lines into findings.
class Reading {
 public:
  Reading(const Catalogue& catalogue, MeasuredRuns* measured,
          CoverageFindings* findings)
      : catalogue_(catalogue),
        measured_(*measured),
        findings_(*findings),
        reader_([this](absl::string_view record,
                       JsonReader& json) { return Handle(record, json); },
                [this](const std::string& text) { Complain(text); },
                // Each is a finding; --limit says how many are shown.
                std::numeric_limits<int64_t>::max()) {}

  absl::Status Read(const std::string& file) {
    file_ = file == "-" ? "standard input" : file;
    return reader_.ReadFile(file);
  }

 private:
  absl::Status Handle(absl::string_view record, JsonReader& json) {
    if (record == "row") {
      RETURN_IF_ERROR(json.Read(&row_));
      measured_.AddRow(row_, LeastItemBytes(row_, catalogue_), file_,
                       reader_.line_number());
    } else if (record == "run") {
      Run run;
      RETURN_IF_ERROR(json.Read(&run));
      measured_.AddRun(run);
    } else if (record == "env") {
      Env env;
      RETURN_IF_ERROR(json.Read(&env));
      measured_.AddEnv(env);
    }
    return absl::OkStatus();
  }

  // `text` starts with the place.
  void Complain(const std::string& text) {
    CoverageCode code = CoverageCode::kBrokenLine;
    if (reader_.torn_lines() > torn_) code = CoverageCode::kTornLine;
    if (reader_.rescued_lines() > rescued_) code = CoverageCode::kRescuedLine;
    torn_ = reader_.torn_lines();
    rescued_ = reader_.rescued_lines();
    const std::string place = absl::StrCat(file_, ":", reader_.line_number());
    findings_.Add(
        code, "", place,
        text.size() > place.size() + 2 ? text.substr(place.size() + 2) : text);
  }

  const Catalogue& catalogue_;
  MeasuredRuns& measured_;
  CoverageFindings& findings_;
  RecordReader reader_;
  std::string file_;
  Row row_;
  int64_t torn_ = 0;
  int64_t rescued_ = 0;
};

std::string NameOf(const CoverageOptions& options) {
  if (options.coverage.empty()) return options.plan;
  if (options.plan.empty()) return options.coverage;
  return absl::StrCat(options.coverage, " and ", options.plan);
}

absl::StatusOr<PlannedJobs> Plan(const CoverageOptions& options,
                                 const Catalogue& catalogue) {
  CoveragePlanOptions plan;
  if (!options.coverage.empty()) {
    ASSIGN_OR_RETURN(plan.profile,
                     FindProfile(options.coverage, catalogue.configs_dir()));
  }
  plan.plan = options.plan;
  plan.num_runs = options.num_runs;
  plan.require_optional_libraries = options.require_optional_libraries;
  plan.warn = options.warn;
  return LoadCoveragePlan(plan, catalogue);
}

// The command that prints the jobs with noisy runs, without the paths.
std::string FixCommand(const CoverageOptions& options,
                       const std::string& program) {
  std::string command = ProgramCommand("check_coverage");
  const auto add = [&](absl::string_view flag, const std::string& value) {
    if (value.empty()) return;
    absl::StrAppend(&command, " ", flag, "=", ShellWord(value));
  };
  add("--coverage", options.coverage);
  add("--plan", options.plan);
  add("--num_runs", options.num_runs > 0 ? absl::StrCat(options.num_runs) : "");
  add("--machine_profile", options.machine_profile);
  add("--configs", options.configs_folder);
  if (options.require_optional_libraries) {
    absl::StrAppend(&command, " --require_optional_libraries");
  }
  absl::StrAppend(&command, " --fix=noisy");
  add("--program", program);
  return command;
}

}  // namespace

absl::StatusOr<Coverage> CheckCoverage(const CoverageOptions& options) {
  if (options.coverage.empty() && options.plan.empty()) {
    return absl::InvalidArgumentError(
        "nothing to compare rows with; give --coverage=full-paper, "
        "--coverage=FILE or --plan=jobs.jsonl");
  }
  ASSIGN_OR_RETURN(
      const std::string folder,
      FindConfigsFolder(options.configs_folder,
                        IsFile(options.coverage) ? options.coverage : ""));
  ASSIGN_OR_RETURN(const Catalogue catalogue, Catalogue::Load(folder));
  ASSIGN_OR_RETURN(const PlannedJobs jobs, Plan(options, catalogue));
  ASSIGN_OR_RETURN(const std::vector<std::string> files,
                   RowFiles(options.paths));
  MeasuredRuns measured(jobs, options.machine_profile);
  CoverageFindings findings;
  Reading reading(catalogue, &measured, &findings);
  for (const std::string& file : files) RETURN_IF_ERROR(reading.Read(file));

  Coverage record;
  record.set_coverage(NameOf(options));
  record.set_files(files.size());
  JudgeCoverage(jobs, measured, catalogue, &findings, &record);
  record.set_verdict(measured.rows() == 0    ? "nothing"
                     : findings.has_errors() ? "incomplete"
                                             : "complete");
  if (!options.program.empty()) {
    std::set<std::string> programs;
    for (const ModePolicy& mode : catalogue.policy().modes()) {
      programs.insert(mode.tool());
    }
    RETURN_IF_ERROR(CheckChoice("--program", options.program,
                                {programs.begin(), programs.end()}));
  }
  const auto program_of = [&](const Job& job) {
    const Scenario* scenario = catalogue.FindScenario(job.scenario());
    const ModePolicy* mode =
        scenario == nullptr ? nullptr
                            : catalogue.FindMode(job.mode(), scenario->media());
    return mode == nullptr ? job.mode() : mode->tool();
  };
  if (options.fix) {
    RETURN_IF_ERROR(findings.ForEachFix(
        jobs, options.fix_noisy, [&](const Job& job) -> absl::Status {
          if (!options.program.empty() && program_of(job) != options.program) {
            return absl::OkStatus();
          }
          return options.fix(job);
        }));
  }
  std::set<std::string> programs;
  RETURN_IF_ERROR(findings.ForEachFix(jobs, /*noisy=*/true,
                                      [&](const Job& job) -> absl::Status {
                                        programs.insert(program_of(job));
                                        return absl::OkStatus();
                                      }));
  for (const std::string& program : programs) {
    record.add_rerun_commands(
        RerunCommand(FixCommand(options, programs.size() > 1 ? program : ""),
                     options.paths, program));
  }
  findings.MoveTo(&record);
  return record;
}

namespace {

// The parts of the plan. Columns that are the same or empty everywhere stand in
// a line above, or not at all.
std::string GroupTable(const Coverage& coverage) {
  const std::vector<
      std::pair<std::string, std::string (*)(const CoverageGroup&)>>
      names = {
          {"scenario", [](const CoverageGroup& g) { return g.scenario(); }},
          {"mode", [](const CoverageGroup& g) { return g.mode(); }},
          {"scope", [](const CoverageGroup& g) { return g.scope(); }},
          {"device", [](const CoverageGroup& g) { return g.device(); }},
          {"library", [](const CoverageGroup& g) { return g.library(); }}};
  const std::vector<std::pair<std::string, int64_t (*)(const CoverageGroup&)>>
      counts = {
          {"jobs", [](const CoverageGroup& g) { return g.jobs(); }},
          {"complete", [](const CoverageGroup& g) { return g.complete(); }},
          {"missing", [](const CoverageGroup& g) { return g.missing(); }},
          {"partial", [](const CoverageGroup& g) { return g.partial(); }},
          {"failed", [](const CoverageGroup& g) { return g.failed(); }},
          {"rejected", [](const CoverageGroup& g) { return g.rejected(); }},
          {"unsupported",
           [](const CoverageGroup& g) { return g.unsupported(); }},
          {"early stopped",
           [](const CoverageGroup& g) { return g.early_stopped(); }},
          {"noisy", [](const CoverageGroup& g) { return g.noisy(); }}};
  Grid grid;
  grid.rows.resize(static_cast<size_t>(coverage.groups_size()));
  std::vector<std::string> shared;
  for (const auto& [name, text] : names) {
    const bool is_constant = absl::c_all_of(
        coverage.groups(), [&, get = text](const CoverageGroup& group) {
          return get(group) == get(coverage.groups(0));
        });
    if (is_constant && name != "library" && coverage.groups_size() > 0) {
      shared.push_back(absl::StrCat(name, " ", text(coverage.groups(0))));
      continue;
    }
    grid.header.push_back({name, false, false});
    for (size_t i = 0; i < grid.rows.size(); ++i) {
      grid.rows[i].push_back(
          {text(coverage.groups(static_cast<int>(i))), false, false});
    }
  }
  grid.key_columns = grid.header.size();
  for (const auto& [name, count] : counts) {
    const bool is_zero = absl::c_all_of(
        coverage.groups(),
        [get = count](const CoverageGroup& group) { return get(group) == 0; });
    if (is_zero && name != "jobs" && name != "complete") continue;
    grid.header.push_back({name, false, true});
    for (size_t i = 0; i < grid.rows.size(); ++i) {
      const int64_t number = count(coverage.groups(static_cast<int>(i)));
      const bool is_empty = number == 0 && name != "complete";
      grid.rows[i].push_back(
          {is_empty ? "" : absl::StrCat(number), false, true});
    }
  }
  grid.caption = {"Jobs by part of the plan"};
  if (!shared.empty()) grid.caption.push_back(absl::StrJoin(shared, ", "));
  return RenderTable(grid, /*color=*/false);
}

std::string FindingText(const CoverageFinding& finding) {
  std::vector<std::string> parts;
  if (!finding.place().empty()) parts.push_back(finding.place());
  std::string subject = finding.subject();
  if (!finding.run_indexes().empty()) {
    absl::StrAppend(&subject, " run ",
                    absl::StrJoin(finding.run_indexes(), ","));
  }
  if (!subject.empty()) parts.push_back(subject);
  parts.push_back(finding.what());
  return absl::StrCat("  ", PrintableText(absl::StrJoin(parts, ": ")), "\n");
}

// All findings of one kind.
std::string CountText(const Coverage& coverage, const CoverageCount& count,
                      int64_t first, int limit) {
  std::string text = absl::StrCat(
      "\n", count.severity(), ": ", count.code(), " (", count.findings(),
      "): ", coverage.findings(first).remedy(), "\n");
  int64_t shown = count.findings();
  if (limit > 0 && shown > limit) shown = limit;
  for (int64_t i = first; i < first + shown; ++i) {
    absl::StrAppend(&text, FindingText(coverage.findings(i)));
  }
  if (shown < count.findings()) {
    absl::StrAppend(&text, "  and ", count.findings() - shown,
                    " more; --limit=0 shows all\n");
  }
  return text;
}

std::string NoiseText(const Coverage& c) {
  if (c.disturbed_runs() == 0) return "no run noisy";
  const std::map<std::string, int64_t> sorted(c.disturbances().begin(),
                                              c.disturbances().end());
  std::vector<std::string> parts;
  for (const auto& [cause, runs] : sorted) {
    parts.push_back(absl::StrCat(runs, " ", cause));
  }
  return absl::StrCat(c.disturbed_runs(),
                      c.disturbed_runs() == 1 ? " run" : " runs",
                      " disturbed (", absl::StrJoin(parts, ", "), ")");
}

}  // namespace

std::string CoverageSummary(const Coverage& c) {
  int64_t errors = 0;
  int64_t warnings = 0;
  for (const CoverageCount& count : c.counts()) {
    (count.severity() == "error" ? errors : warnings) += count.findings();
  }
  return absl::StrCat(
      PrintableText(c.coverage()), ": ",
      c.verdict() == "nothing" ? "no rows" : c.verdict(), ": ",
      c.jobs_complete(), " of ", c.jobs(), " jobs, ", c.runs_complete(), " of ",
      c.runs(), " runs; ", c.rows(), c.rows() == 1 ? " row" : " rows", " in ",
      c.files(), c.files() == 1 ? " file" : " files", ", ", c.unplanned_rows(),
      " not owed; ", errors, errors == 1 ? " error" : " errors", ", ", warnings,
      warnings == 1 ? " warning" : " warnings", "; ", NoiseText(c));
}

std::string CoverageText(const Coverage& coverage, int limit) {
  std::string text =
      absl::StrCat(CoverageSummary(coverage), "\n\n", GroupTable(coverage));
  int64_t first = 0;
  for (const CoverageCount& count : coverage.counts()) {
    absl::StrAppend(&text, CountText(coverage, count, first, limit));
    first += count.findings();
  }
  for (const std::string& command : coverage.rerun_commands()) {
    absl::StrAppend(&text,
                    "\nmeasure the noisy runs again: ", PrintableText(command),
                    "\n");
  }
  return text;
}

}  // namespace feedrate
