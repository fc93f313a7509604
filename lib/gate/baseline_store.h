// Stored baselines: what a machine did when all was well.
#ifndef FEEDRATE_LIB_GATE_BASELINE_STORE_H_
#define FEEDRATE_LIB_GATE_BASELINE_STORE_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "lib/gate/metrics.h"
#include "lib/records/records.pb.h"

namespace feedrate {

// Rows by job id, only the last attempt at each run.
using RowsByJob = std::map<std::string, std::vector<Row>>;

// Reads rows strictly: a line that is broken or torn is an error with its
// place, because a baseline that lost rows would let a regression pass.
absl::StatusOr<std::vector<Row>> ParseRowsStrictly(const std::string& text,
                                                   const std::string& name);

RowsByJob LastAttempts(const std::vector<Row>& rows);

// A folder with `<machine_profile>.metrics.json`, `.eval.json`, `.rows.jsonl`
// and `.calibration.jsonl`. Reading changes nothing. Files that are tampered
// with, half-written, empty, or of another machine than their name says are
// InvalidArgument with the reason.
class BaselineStore {
 public:
  explicit BaselineStore(std::string folder) : folder_(std::move(folder)) {}

  // Machines that have a baseline of any kind, sorted. NotFound without the
  // folder.
  absl::StatusOr<std::vector<std::string>> Profiles() const;

  // None when there is no such file.
  absl::StatusOr<absl::optional<MetricsFile>> ReadMetrics(
      const std::string& profile) const;
  absl::StatusOr<absl::optional<MetricsFile>> ReadEval(
      const std::string& profile) const;
  absl::StatusOr<absl::optional<RowsByJob>> ReadRows(
      const std::string& profile) const;
  // Empty when there is no such file.
  absl::StatusOr<std::vector<Calibration>> ReadCalibrations(
      const std::string& profile) const;

  // `FOLDER/<profile>.<kind>`, such as kind "metrics.json".
  std::string PathOf(const std::string& profile, const std::string& kind) const;
  const std::string& folder() const { return folder_; }

 private:
  absl::StatusOr<absl::optional<MetricsFile>> ReadFlat(
      const std::string& profile, const std::string& kind) const;

  const std::string folder_;
};

// Smallest change in percent that was seen, by job id. A job whose calibration
// found nothing has a floor that nothing passes.
std::map<std::string, double> FloorsOf(
    const std::vector<Calibration>& calibrations);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_GATE_BASELINE_STORE_H_
