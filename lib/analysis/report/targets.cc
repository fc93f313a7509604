#include "lib/analysis/report/targets.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/analysis/report/expression.h"
#include "lib/base/status_macros.h"
#include "lib/config/targets.pb.h"
#include "lib/config/text_proto.h"
#include "lib/draw/document.h"
#include "lib/draw/text.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

using Outcome = TargetResult::Outcome;

absl::Status ErrorIn(const std::string& path, const std::string& name,
                     const std::string& what) {
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": \"", name, "\": ", what));
}

absl::Status CheckTarget(const std::string& path, const Target& target) {
  const std::string& name = target.name();
  if (name.empty()) return ErrorIn(path, "", "a target has no `name`");
  if (target.value().empty()) return ErrorIn(path, name, "`value` is missing");
  if (!target.has_min() && !target.has_max()) {
    return ErrorIn(path, name, "`min` or `max` is missing");
  }
  if (target.remedy().empty()) {
    return ErrorIn(path, name, "`remedy` is missing");
  }
  if (target.needs().empty()) return ErrorIn(path, name, "`needs` is missing");
  return absl::OkStatus();
}

absl::Status CheckDiagnosis(const std::string& path,
                            const Diagnosis& diagnosis) {
  const std::string& name = diagnosis.name();
  if (name.empty()) return ErrorIn(path, "", "a diagnosis has no `name`");
  if (diagnosis.value().empty() || diagnosis.meaning().empty() ||
      diagnosis.remedy().empty()) {
    return ErrorIn(path, name, "needs `value`, `meaning` and `remedy`");
  }
  if (diagnosis.has_above() == diagnosis.has_below()) {
    return ErrorIn(path, name, "needs either `above` or `below`");
  }
  return absl::OkStatus();
}

// Whole numbers stay whole: "1 row", not "1.00 row".
std::string NumberText(double value) {
  return value == std::round(value) && std::abs(value) < 1e6
             ? SignificantText(value, 1)
             : SignificantText(value);
}

std::string BoundText(const Target& target) {
  std::vector<std::string> parts;
  if (target.has_min()) {
    parts.push_back(absl::StrCat("≥ ", NumberText(target.min())));
  }
  if (target.has_max()) {
    parts.push_back(absl::StrCat("≤ ", NumberText(target.max())));
  }
  return absl::StrCat(absl::StrJoin(parts, ", "),
                      target.unit().empty() ? "" : " ", target.unit());
}

std::string FoundText(const TargetResult& result) {
  if (!result.value.has_value()) return "–";
  return absl::StrCat(NumberText(*result.value),
                      result.target.unit().empty() ? "" : " ",
                      result.target.unit());
}

const char* MarkOf(Outcome outcome) {
  switch (outcome) {
    case Outcome::kReached:
      return "✓";
    case Outcome::kMissed:
      return "✗";
    case Outcome::kCannotTell:
      return "—";
  }
  return "";
}

std::string AdviceOf(const TargetResult& result) {
  switch (result.outcome) {
    case Outcome::kReached:
      return "";
    case Outcome::kMissed:
      return result.target.remedy();
    case Outcome::kCannotTell:
      return absl::StrCat(result.reason, "; needs ", result.target.needs());
  }
  return "";
}

}  // namespace

absl::StatusOr<Targets> LoadTargets(const std::string& path) {
  Targets targets;
  RETURN_IF_ERROR(ReadTextProto(path, &targets));
  if (targets.targets().empty()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": has no `targets`"));
  }
  std::set<std::string> names;
  for (const Target& target : targets.targets()) {
    RETURN_IF_ERROR(CheckTarget(path, target));
    if (!names.insert(target.name()).second) {
      return ErrorIn(path, target.name(), "stands there twice");
    }
  }
  for (const Diagnosis& diagnosis : targets.diagnoses()) {
    RETURN_IF_ERROR(CheckDiagnosis(path, diagnosis));
  }
  return targets;
}

bool TargetsReport::AnyMissed() const {
  return std::any_of(targets.begin(), targets.end(), [](const auto& result) {
    return result.outcome == Outcome::kMissed;
  });
}

bool TargetsReport::CannotTell() const {
  return std::all_of(targets.begin(), targets.end(), [](const auto& result) {
    return result.outcome == Outcome::kCannotTell;
  });
}

absl::StatusOr<TargetsReport> JudgeTargets(const Targets& targets,
                                           const std::vector<Row>& rows) {
  TargetsReport report;
  for (const Target& target : targets.targets()) {
    TargetResult result;
    result.target = target;
    const absl::StatusOr<double> value = Evaluate(target.value(), rows);
    if (value.ok()) {
      result.value = *value;
      const bool reached = (!target.has_min() || *value >= target.min()) &&
                           (!target.has_max() || *value <= target.max());
      result.outcome = reached ? Outcome::kReached : Outcome::kMissed;
    } else if (absl::IsInvalidArgument(value.status())) {
      return value.status();
    } else {
      result.reason = std::string(value.status().message());
    }
    report.targets.push_back(std::move(result));
  }
  for (const Diagnosis& diagnosis : targets.diagnoses()) {
    const absl::StatusOr<double> value = Evaluate(diagnosis.value(), rows);
    if (absl::IsInvalidArgument(value.status())) return value.status();
    if (!value.ok()) continue;
    const bool is_so = diagnosis.has_above() ? *value > diagnosis.above()
                                             : *value < diagnosis.below();
    if (is_so) report.diagnoses.push_back({diagnosis, *value});
  }
  return report;
}

std::string TargetsText(const TargetsReport& report) {
  Table table(
      {"", "target", "wanted", "found", "what to do"},
      {Align::kLeft, Align::kLeft, Align::kRight, Align::kRight, Align::kLeft});
  for (const TargetResult& result : report.targets) {
    table.AddRow({MarkOf(result.outcome), result.target.name(),
                  BoundText(result.target), FoundText(result),
                  AdviceOf(result)});
  }
  std::string text = table.ToText();
  for (const DiagnosisResult& result : report.diagnoses) {
    absl::StrAppend(&text, "\n", result.diagnosis.name(), ": ",
                    NumberText(result.value), " ", result.diagnosis.meaning(),
                    "\n  remedy: ", result.diagnosis.remedy(), "\n");
  }
  return text;
}

Section TargetsSection(const TargetsReport& report) {
  Section section;
  section.id = "targets";
  section.title = "Targets";
  DocumentTable table;
  table.header = {"", "target", "wanted", "found", "what to do"};
  table.align = {Align::kLeft, Align::kLeft, Align::kRight, Align::kRight,
                 Align::kLeft};
  for (const TargetResult& result : report.targets) {
    DocumentCell found(FoundText(result));
    found.value = result.value;
    table.rows.push_back({MarkOf(result.outcome), result.target.name(),
                          BoundText(result.target), found, AdviceOf(result)});
  }
  section.blocks.emplace_back(std::move(table));
  for (const DiagnosisResult& result : report.diagnoses) {
    Paragraph paragraph;
    paragraph.is_warning = true;
    paragraph.text =
        absl::StrCat("Diagnosis: ", result.diagnosis.name(), ". ",
                     NumberText(result.value), " ", result.diagnosis.meaning(),
                     ". Remedy: ", result.diagnosis.remedy(), ".");
    section.blocks.emplace_back(std::move(paragraph));
  }
  return section;
}

}  // namespace feedrate
