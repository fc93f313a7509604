#include "tools/collect_env/check_report.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/draw/text.h"

namespace feedrate {
namespace {

int Count(const std::vector<Check>& checks, CheckStatus status) {
  return std::count_if(
      checks.begin(), checks.end(),
      [status](const Check& check) { return check.status == status; });
}

std::string ChecksTable(const std::vector<Check>& checks) {
  Table table({"check", "status", "observed"},
              {Align::kLeft, Align::kLeft, Align::kLeft});
  for (const Check& check : checks) {
    table.AddRow({check.name, CheckStatusName(check.status), check.observed});
  }
  return table.ToText();
}

void AppendFindings(const std::vector<Check>& checks, CheckStatus status,
                    std::string* text) {
  for (const Check& check : checks) {
    if (check.status != status) continue;
    absl::StrAppend(text, "\n", CheckStatusName(status), ": ", check.name, ": ",
                    check.why, "\n  ", check.remedy, "\n");
  }
}

std::string Summary(const std::vector<Check>& checks) {
  const int warnings = Count(checks, CheckStatus::kWarn);
  const int unknown = Count(checks, CheckStatus::kUnknown);
  if (warnings > 0) {
    return absl::StrCat("Timings are unreliable here: ", warnings, " of ",
                        checks.size(), " checks warn.");
  }
  if (unknown > 0) {
    std::vector<std::string> names;
    for (const Check& check : checks) {
      if (check.status == CheckStatus::kUnknown) names.push_back(check.name);
    }
    return absl::StrCat("Cannot tell: ", unknown, " of ", checks.size(),
                        " checks could not be made; --ignore=",
                        absl::StrJoin(names, ","), " accepts that.");
  }
  return absl::StrCat("Nothing found that makes timings unreliable here (",
                      checks.size(), " checks).");
}

}  // namespace

std::string CheckReport(const std::vector<Check>& checks) {
  std::string text = ChecksTable(checks);
  AppendFindings(checks, CheckStatus::kWarn, &text);
  AppendFindings(checks, CheckStatus::kUnknown, &text);
  AppendFindings(checks, CheckStatus::kUsual, &text);
  AppendFindings(checks, CheckStatus::kNote, &text);
  absl::StrAppend(&text, "\n", Summary(checks), "\n");
  return text;
}

absl::Status IgnoreChecks(const std::vector<std::string>& names,
                          std::vector<Check>* checks) {
  std::vector<std::string> known;
  for (const Check& check : *checks) known.push_back(check.name);
  for (const std::string& name : names) {
    RETURN_IF_ERROR(CheckChoice("--ignore", name, known));
  }
  checks->erase(std::remove_if(checks->begin(), checks->end(),
                               [&](const Check& check) {
                                 return std::find(names.begin(), names.end(),
                                                  check.name) != names.end();
                               }),
                checks->end());
  return absl::OkStatus();
}

ExitCode CheckExitCode(const std::vector<Check>& checks) {
  if (Count(checks, CheckStatus::kWarn) > 0) return ExitCode::kCheckSaidNo;
  if (Count(checks, CheckStatus::kUnknown) > 0) return ExitCode::kCannotTell;
  return ExitCode::kDone;
}

}  // namespace feedrate
