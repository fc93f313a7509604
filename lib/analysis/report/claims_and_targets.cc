#include "lib/analysis/report/claims_and_targets.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "lib/analysis/report/expression.h"
#include "lib/base/status_macros.h"
#include "lib/config/targets.pb.h"
#include "lib/config/text_proto.h"
#include "lib/draw/document.h"
#include "lib/draw/text.h"
#include "lib/records/row.pb.h"

namespace feedrate {
namespace {

constexpr absl::string_view kOpen = "<!-- rows:";
constexpr absl::string_view kClose = "-->";
constexpr absl::string_view kMinus = "\u2212";
// Relative rounding error to allow for sums of doubles.
constexpr double kRoundOff = 1e-9;

absl::Status ErrorAt(const std::string& file, int line,
                     absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(file, ":", line, ": ", what));
}

double FactorOf(absl::string_view rest) {
  if (rest.size() > 1 && absl::ascii_isalpha(rest[1])) return 1;
  if (absl::StartsWith(rest, "k")) return 1e3;
  if (absl::StartsWith(rest, "M")) return 1e6;
  if (absl::StartsWith(rest, "G")) return 1e9;
  return 1;
}

// Finds the last number in `text`; false if there is none.
bool LastNumber(absl::string_view text, Claim* claim) {
  size_t end = text.size();
  while (end > 0 && !absl::ascii_isdigit(text[end - 1])) --end;
  size_t start = end;
  while (start > 0 && (absl::ascii_isdigit(text[start - 1]) ||
                       (start < end &&
                        (text[start - 1] == '.' || text[start - 1] == ',')))) {
    --start;
  }
  while (start < end && !absl::ascii_isdigit(text[start])) ++start;
  if (start == end) return false;
  const absl::string_view digits = text.substr(start, end - start);
  const absl::string_view before = text.substr(0, start);
  const bool after_word =
      before.size() > 1 && (absl::ascii_isalnum(before[before.size() - 2]) ||
                            before[before.size() - 2] == ')');
  const bool negative = absl::EndsWith(before, kMinus) ||
                        (absl::EndsWith(before, "-") && !after_word);
  double value = 0;
  if (!absl::SimpleAtod(absl::StrReplaceAll(digits, {{",", ""}}), &value)) {
    return false;
  }
  const size_t point = digits.find('.');
  const int decimals = point == absl::string_view::npos
                           ? 0
                           : static_cast<int>(digits.size() - point - 1);
  const double factor = FactorOf(text.substr(end));
  claim->text = absl::StrCat(negative ? "-" : "", digits);
  claim->value = (negative ? -value : value) * factor;
  claim->tolerance = 0.5 * std::pow(10, -decimals) * factor;
  return true;
}

absl::Status ReadExpression(absl::string_view text, Claim* claim) {
  const std::vector<absl::string_view> words =
      absl::StrSplit(absl::StripAsciiWhitespace(text), ' ', absl::SkipEmpty());
  if (words.size() > 2 && words[words.size() - 2] == "within") {
    absl::string_view share = words.back();
    double percent = 0;
    if (!absl::ConsumeSuffix(&share, "%") ||
        !absl::SimpleAtod(share, &percent) ||
        !(percent >= 0 && percent <= 100)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "`within ", words.back(), "`: expected `within 2%`, at most 100%"));
    }
    claim->tolerance = std::abs(claim->value) * percent / 100;
    text = text.substr(0, text.rfind("within"));
  }
  claim->expression = std::string(absl::StripAsciiWhitespace(text));
  return absl::OkStatus();
}

absl::Status ClaimsOfLine(absl::string_view line, const std::string& file,
                          int number, std::vector<Claim>* claims) {
  size_t start = 0;
  for (size_t at = line.find(kOpen); at != absl::string_view::npos;
       at = line.find(kOpen, start)) {
    const size_t end = line.find(kClose, at);
    if (end == absl::string_view::npos) {
      return ErrorAt(file, number, "the reference is not closed by `-->`");
    }
    Claim claim;
    claim.line = number;
    if (!LastNumber(line.substr(start, at - start), &claim)) {
      return ErrorAt(file, number, "no number stands before the reference");
    }
    const absl::Status status = ReadExpression(
        line.substr(at + kOpen.size(), end - at - kOpen.size()), &claim);
    if (!status.ok()) return ErrorAt(file, number, status.message());
    claims->push_back(std::move(claim));
    start = end + kClose.size();
  }
  return absl::OkStatus();
}

// `value` with as many digits as the claim, or more if that would hide the
// difference.
std::string ExpectedText(double value, const Claim& claim) {
  const size_t point = claim.text.find('.');
  const int decimals = point == std::string::npos
                           ? 0
                           : static_cast<int>(claim.text.size() - point - 1);
  const std::string rounded = absl::StrFormat("%.*f", decimals, value);
  return rounded == absl::StrReplaceAll(claim.text, {{",", ""}})
             ? absl::StrFormat("%.6g", value)
             : rounded;
}

}  // namespace

absl::StatusOr<std::vector<Claim>> FindClaims(absl::string_view markdown,
                                              const std::string& file) {
  std::vector<Claim> claims;
  int number = 0;
  bool in_code = false;
  for (const absl::string_view line : absl::StrSplit(markdown, '\n')) {
    ++number;
    const absl::string_view text = absl::StripLeadingAsciiWhitespace(line);
    if (absl::StartsWith(text, "```") || absl::StartsWith(text, "~~~")) {
      in_code = !in_code;
    }
    if (in_code) continue;
    RETURN_IF_ERROR(ClaimsOfLine(line, file, number, &claims));
  }
  return claims;
}

absl::StatusOr<std::vector<ClaimResult>> CheckClaims(
    const std::vector<Claim>& claims, const std::string& file,
    const std::vector<Row>& rows) {
  std::vector<ClaimResult> results;
  for (const Claim& claim : claims) {
    ClaimResult result;
    result.claim = claim;
    const absl::StatusOr<double> value = Evaluate(claim.expression, rows);
    if (value.ok()) {
      result.holds = std::abs(*value - claim.value) <=
                     claim.tolerance + kRoundOff * std::abs(*value);
      result.expected = ExpectedText(*value, claim);
    } else if (absl::IsInvalidArgument(value.status())) {
      return ErrorAt(file, claim.line, value.status().message());
    } else {
      result.expected = std::string(value.status().message());
    }
    results.push_back(std::move(result));
  }
  return results;
}

std::string ClaimsText(const std::vector<ClaimResult>& results,
                       const std::string& file) {
  std::string text;
  int held = 0;
  for (const ClaimResult& result : results) {
    held += result.holds ? 1 : 0;
    absl::StrAppend(&text, result.holds ? "✓ " : "✗ ", file, ":",
                    result.claim.line, ": ", result.claim.text,
                    result.holds ? ", rows say " : ", but rows say ",
                    result.expected, "  [", result.claim.expression, "]\n");
  }
  absl::StrAppend(&text, held, " of ", results.size(),
                  " claims follow from the rows\n");
  return text;
}

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

// Prints whole numbers without decimals: "1 row", not "1.00 row".
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
  if (!result.value.has_value()) return "not measured";
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

namespace {

// Whether `value` can be computed from any rows.
absl::Status CheckValue(const std::string& path, const std::string& name,
                        const std::string& value) {
  const absl::Status status = Evaluate(value, {}).status();
  if (!absl::IsInvalidArgument(status)) return absl::OkStatus();
  return ErrorIn(path, name, absl::StrCat("`value`: ", status.message()));
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
    RETURN_IF_ERROR(CheckValue(path, target.name(), target.value()));
    if (!names.insert(target.name()).second) {
      return ErrorIn(path, target.name(), "stands there twice");
    }
  }
  for (const Diagnosis& diagnosis : targets.diagnoses()) {
    RETURN_IF_ERROR(CheckDiagnosis(path, diagnosis));
    RETURN_IF_ERROR(CheckValue(path, diagnosis.name(), diagnosis.value()));
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
    if (!value.ok()) {
      report.not_diagnosed.push_back(diagnosis.name());
      continue;
    }
    const bool is_so = diagnosis.has_above() ? *value > diagnosis.above()
                                             : *value < diagnosis.below();
    if (is_so) report.diagnoses.push_back({diagnosis, *value});
  }
  return report;
}

namespace {

// Names the diagnoses for which the rows have no numbers. Empty if there are
// none: a problem that nobody looked for is not absent.
std::string NotDiagnosedText(const TargetsReport& report) {
  if (report.not_diagnosed.empty()) return "";
  return absl::StrCat("Not diagnosed, because the rows lack the numbers: ",
                      absl::StrJoin(report.not_diagnosed, ", "), ".");
}

}  // namespace

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
  const std::string missing = NotDiagnosedText(report);
  if (!missing.empty()) absl::StrAppend(&text, "\n", missing, "\n");
  return text;
}

Section TargetsSection(const TargetsReport& report) {
  Section section;
  section.id = "targets";
  section.title = "Targets";
  DocumentTable table;
  table.header = {"reached", "target", "wanted", "found", "what to do"};
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
  Paragraph missing;
  missing.text = NotDiagnosedText(report);
  if (!missing.text.empty()) section.blocks.emplace_back(std::move(missing));
  return section;
}

}  // namespace feedrate
