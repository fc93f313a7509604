#include "lib/analysis/coverage_text.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/draw/text.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

std::string Number(int64_t number) {
  return number == 0 ? "" : absl::StrCat(number);
}

std::string GroupTable(const Coverage& coverage) {
  Table table(
      {"scenario", "mode", "scope", "device", "library", "jobs", "complete",
       "missing", "partial", "failed", "rejected", "unsupported",
       "early stopped"},
      {Align::kLeft, Align::kLeft, Align::kLeft, Align::kLeft, Align::kLeft,
       Align::kRight, Align::kRight, Align::kRight, Align::kRight,
       Align::kRight, Align::kRight, Align::kRight, Align::kRight});
  for (const CoverageGroup& g : coverage.groups()) {
    table.AddRow({g.scenario(), g.mode(), g.scope(), g.device(), g.library(),
                  absl::StrCat(g.jobs()), absl::StrCat(g.complete()),
                  Number(g.missing()), Number(g.partial()), Number(g.failed()),
                  Number(g.rejected()), Number(g.unsupported()),
                  Number(g.early_stopped())});
  }
  return table.ToText();
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
  return absl::StrCat("  ", absl::StrJoin(parts, ": "), "\n");
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

}  // namespace

std::string CoverageSummary(const Coverage& c) {
  int64_t errors = 0;
  int64_t warnings = 0;
  for (const CoverageCount& count : c.counts()) {
    (count.severity() == "error" ? errors : warnings) += count.findings();
  }
  return absl::StrCat(
      c.coverage(), ": ", c.verdict() == "nothing" ? "no rows" : c.verdict(),
      ": ", c.jobs_complete(), " of ", c.jobs(), " jobs, ", c.runs_complete(),
      " of ", c.runs(), " runs; ", c.rows(), c.rows() == 1 ? " row" : " rows",
      " in ", c.files(), c.files() == 1 ? " file" : " files", ", ",
      c.unplanned_rows(), " not owed; ", errors,
      errors == 1 ? " error" : " errors", ", ", warnings,
      warnings == 1 ? " warning" : " warnings");
}

std::string CoverageText(const Coverage& coverage, int limit) {
  std::string text =
      absl::StrCat(CoverageSummary(coverage), "\n\n", GroupTable(coverage));
  int64_t first = 0;
  for (const CoverageCount& count : coverage.counts()) {
    absl::StrAppend(&text, CountText(coverage, count, first, limit));
    first += count.findings();
  }
  return text;
}

}  // namespace feedrate
