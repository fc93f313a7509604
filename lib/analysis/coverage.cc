#include "lib/analysis/coverage.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/analysis/coverage_codes.h"
#include "lib/analysis/coverage_findings.h"
#include "lib/analysis/coverage_hardware.h"
#include "lib/analysis/coverage_judge.h"
#include "lib/analysis/coverage_plan.h"
#include "lib/analysis/planned_jobs.h"
#include "lib/analysis/row_book.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/load.h"
#include "lib/records/record_io.h"
#include "lib/records/records.pb.h"

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
                     ListFiles(path, ".jsonl", /*recursive=*/true));
    files.insert(files.end(), inside.begin(), inside.end());
  }
  return files;
}

// Reads files into a book; what is broken in them becomes findings.
class Reading {
 public:
  Reading(const Catalogue& catalogue, RowBook* book, CoverageFindings* findings)
      : catalogue_(catalogue),
        book_(*book),
        findings_(*findings),
        reader_([this](absl::string_view record,
                       JsonReader& json) { return Handle(record, json); },
                [this](const std::string& text) { Complain(text); }) {}

  absl::Status Read(const std::string& file) {
    file_ = file == "-" ? "standard input" : file;
    return reader_.ReadFile(file);
  }

 private:
  absl::Status Handle(absl::string_view record, JsonReader& json) {
    if (record == "row") {
      RETURN_IF_ERROR(json.Read(&row_));
      book_.AddRow(row_, LeastItemBytes(row_, catalogue_), file_,
                   reader_.line_number());
    } else if (record == "run") {
      Run run;
      RETURN_IF_ERROR(json.Read(&run));
      book_.AddRun(run);
    } else if (record == "env") {
      Env env;
      RETURN_IF_ERROR(json.Read(&env));
      book_.AddEnv(env);
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
  RowBook& book_;
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

}  // namespace

absl::StatusOr<Coverage> CheckCoverage(const CoverageOptions& options) {
  if (options.coverage.empty() && options.plan.empty()) {
    return absl::InvalidArgumentError(
        "nothing to hold rows against; give --coverage=full-paper, "
        "--coverage=FILE or --plan=jobs.jsonl");
  }
  if (options.paths.empty()) {
    return absl::InvalidArgumentError(
        "no rows; name files or folders, or - for standard input");
  }
  ASSIGN_OR_RETURN(
      const std::string folder,
      FindConfigsFolder(options.configs_folder,
                        IsFile(options.coverage) ? options.coverage : ""));
  ASSIGN_OR_RETURN(const Catalogue catalogue, Catalogue::Load(folder));
  ASSIGN_OR_RETURN(const PlannedJobs jobs, Plan(options, catalogue));
  ASSIGN_OR_RETURN(const std::vector<std::string> files,
                   RowFiles(options.paths));
  RowBook book(jobs, options.machine_profile);
  CoverageFindings findings;
  Reading reading(catalogue, &book, &findings);
  for (const std::string& file : files) RETURN_IF_ERROR(reading.Read(file));

  Coverage record;
  record.set_coverage(NameOf(options));
  record.set_files(files.size());
  JudgeCoverage(jobs, book, catalogue, &findings, &record);
  record.set_verdict(book.rows() == 0        ? "nothing"
                     : findings.has_errors() ? "incomplete"
                                             : "complete");
  if (options.fix) RETURN_IF_ERROR(findings.ForEachFix(jobs, options.fix));
  findings.MoveTo(&record);
  return record;
}

}  // namespace feedrate
