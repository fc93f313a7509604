// Checks rows against claims (numbers in a Markdown text) and against targets
// (values that they should reach).
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "lib/config/targets.pb.h"
#include "lib/draw/document.h"
#include "lib/records/row.pb.h"

namespace feedrate {

// A number in a text, and the expression that it is computed from.
struct Claim {
  // Line number, from 1.
  int line = 0;
  // As written in the text, such as "1.8" or "12,345".
  std::string text;
  double value = 0;
  // Largest allowed error: half a unit of the last digit, unless `within` is
  // given.
  double tolerance = 0;
  std::string expression;
};

// Finds the claims in `markdown`. A claim is a number followed by a comment
// with an expression (see lib/analysis/report/expression.h):
//
//   1.8x <!-- rows: ratio(throughput, library=="a", library=="b") -->
//   12.5% <!-- rows: percent(…) within 2% -->
//
// The comment belongs to the last number before it on its line. Commas may
// separate thousands; k, M and G after the number multiply it. `within P%`
// allows an error of P percent of the value instead of half a unit of the last
// digit. Skips fenced code. InvalidArgument with `file:line` if a comment has
// no number or does not end on its line.
absl::StatusOr<std::vector<Claim>> FindClaims(absl::string_view markdown,
                                              const std::string& file);

struct ClaimResult {
  Claim claim;
  bool holds = false;
  // The value computed from the rows, with as many digits as the claim; or why
  // there is none.
  std::string expected;
};

// Recomputes every claim. A claim that cannot be computed from the rows does
// not hold. InvalidArgument with `file:line` if an expression is wrong.
absl::StatusOr<std::vector<ClaimResult>> CheckClaims(
    const std::vector<Claim>& claims, const std::string& file,
    const std::vector<Row>& rows);

// A text for people: one line per claim, and the count.
std::string ClaimsText(const std::vector<ClaimResult>& results,
                       const std::string& file);

// Reads and checks a file of targets. InvalidArgument names the file and place.
absl::StatusOr<Targets> LoadTargets(const std::string& path);

struct TargetResult {
  enum class Outcome { kReached, kMissed, kCannotTell };
  Target target;
  Outcome outcome = Outcome::kCannotTell;
  absl::optional<double> value;
  // Why the outcome is kCannotTell. Empty otherwise.
  std::string reason;
};

struct DiagnosisResult {
  Diagnosis diagnosis;
  double value = 0;
};

struct TargetsReport {
  std::vector<TargetResult> targets;
  // Only diagnoses that apply.
  std::vector<DiagnosisResult> diagnoses;
  // Names of those that the rows have no numbers for.
  std::vector<std::string> not_diagnosed;

  bool AnyMissed() const;
  // Whether no target could be judged.
  bool CannotTell() const;
};

// InvalidArgument if an expression is wrong.
absl::StatusOr<TargetsReport> JudgeTargets(const Targets& targets,
                                           const std::vector<Row>& rows);

// ✓, ✗ or — for each target, then diagnoses with their remedies.
std::string TargetsText(const TargetsReport& report);
// The same, as a section of a report.
Section TargetsSection(const TargetsReport& report);

}  // namespace feedrate
