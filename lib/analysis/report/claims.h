// Whether the numbers of a Markdown report follow from rows.
#ifndef FEEDRATE_LIB_ANALYSIS_REPORT_CLAIMS_H_
#define FEEDRATE_LIB_ANALYSIS_REPORT_CLAIMS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/records/records.pb.h"

namespace feedrate {

// A number in a text with what it is computed from.
struct Claim {
  // From 1.
  int line = 0;
  // As it stands in the text, such as "1.8" or "12,345".
  std::string text;
  double value = 0;
  // Half a unit of its last digit: how far the truth may be off.
  double tolerance = 0;
  std::string expression;
};

// The claims of `markdown`. A claim is a number, followed by a comment with an
// expression of lib/analysis/report/expression.h:
//
//   1.8x <!-- rows: ratio(throughput, library=="a", library=="b") -->
//   12.5% <!-- rows: percent(…) within 2% -->
//
// The comment belongs to the last number before it on its line. Thousands are
// grouped by commas or not at all; k, M and G after the number multiply it.
// `within P%` allows P per cent of the value instead of half a unit of the last
// digit. Fenced code is passed over. InvalidArgument with `file:line` when a
// comment has no number or is not closed on its line.
absl::StatusOr<std::vector<Claim>> FindClaims(absl::string_view markdown,
                                              const std::string& file);

struct ClaimResult {
  Claim claim;
  bool holds = false;
  // What the rows say, in the digits of the claim; or why they say nothing.
  std::string expected;
};

// Recomputes every claim. InvalidArgument with `file:line` when an expression
// is wrong; a claim that the rows cannot answer does not hold.
absl::StatusOr<std::vector<ClaimResult>> CheckClaims(
    const std::vector<Claim>& claims, const std::string& file,
    const std::vector<Row>& rows);

// One line for each claim, and the count: for a person.
std::string ClaimsText(const std::vector<ClaimResult>& results,
                       const std::string& file);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_REPORT_CLAIMS_H_
