// Rows held against what they should reach.
#ifndef FEEDRATE_LIB_ANALYSIS_REPORT_TARGETS_H_
#define FEEDRATE_LIB_ANALYSIS_REPORT_TARGETS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "lib/config/targets.pb.h"
#include "lib/draw/document.h"
#include "lib/records/records.pb.h"

namespace feedrate {

// Reads and checks a file of targets. InvalidArgument names file and place.
absl::StatusOr<Targets> LoadTargets(const std::string& path);

struct TargetResult {
  enum class Outcome { kReached, kMissed, kCannotTell };
  Target target;
  Outcome outcome = Outcome::kCannotTell;
  absl::optional<double> value;
  // Why it cannot be told. Empty otherwise.
  std::string reason;
};

struct DiagnosisResult {
  Diagnosis diagnosis;
  double value = 0;
};

struct TargetsReport {
  std::vector<TargetResult> targets;
  // Only what is wrong.
  std::vector<DiagnosisResult> diagnoses;

  bool AnyMissed() const;
  // No target could be judged.
  bool CannotTell() const;
};

// InvalidArgument when an expression is wrong.
absl::StatusOr<TargetsReport> JudgeTargets(const Targets& targets,
                                           const std::vector<Row>& rows);

// ✓, ✗ or — for each target, then diagnoses with their remedies.
std::string TargetsText(const TargetsReport& report);
// The same as a section of a report.
Section TargetsSection(const TargetsReport& report);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_REPORT_TARGETS_H_
