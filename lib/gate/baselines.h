// Metrics files, and the stored baselines of machines: reading and replacing
// them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "lib/gate/stored_runs.h"
#include "lib/records/env.pb.h"
#include "lib/records/row.pb.h"
#include "lib/records/verdict.pb.h"

namespace feedrate {

// A file such as `<machine_profile>.metrics.json`.
struct MetricsFile {
  std::string name;
  std::string machine_profile;
  Metrics metrics;
  // Values that are neither numbers, lists of them nor objects: what they are,
  // by name, such as "text". Notes are welcome, but not in place of a metric.
  std::map<std::string, std::string> others;
  // Lists of numbers, by name.
  std::map<std::string, std::vector<double>> lists;
  // The texts among the others, by name.
  std::map<std::string, std::string> texts;
  // The line of each value, from 1.
  std::map<std::string, int> lines;
};

// Parses one JSON object with `machine_profile` and numbers, also in nested
// objects. InvalidArgument, with `name` and the reason: not an object, no
// profile, truncated, an invalid number, a name that is there twice or has more
// than 512 bytes, or no number at all.
absl::StatusOr<MetricsFile> ParseMetrics(absl::string_view text,
                                         const std::string& name);

// InvalidArgument if a machine's profile cannot be the name of a file.
absl::Status CheckProfile(const std::string& profile);

// InvalidArgument if a row of status `ok` has no throughput above 0, or if its
// machine_profile cannot be the name of a file.
absl::Status CheckRow(const Row& row);
// Bytes of a usual row as text, to reserve room for the rows of a file.
inline constexpr size_t kUsualRowBytes = 256;

// A folder with `<machine_profile>.metrics.json`, `.eval.json`, `.rows.jsonl`
// and `.calibration.jsonl`. Reading changes nothing. A file that is corrupt,
// truncated, empty, or of another machine than its name says is an
// InvalidArgument error with the reason.
class BaselineStore {
 public:
  explicit BaselineStore(std::string folder) : folder_(std::move(folder)) {}

  // Machines that have any baseline, sorted. NotFound if the folder does not
  // exist.
  absl::StatusOr<std::vector<std::string>> Profiles() const;

  // Absent if there is no such file.
  absl::StatusOr<absl::optional<MetricsFile>> ReadMetrics(
      const std::string& profile) const;
  absl::StatusOr<absl::optional<MetricsFile>> ReadEval(
      const std::string& profile) const;
  absl::StatusOr<absl::optional<RunsByJob>> ReadRows(
      const std::string& profile) const;
  // Empty if there is no such file.
  absl::StatusOr<std::vector<Calibration>> ReadCalibrations(
      const std::string& profile) const;
  // Writes them beside those of other jobs. Replaces older ones of a job.
  absl::Status AddCalibrations(
      const std::vector<Calibration>& calibrations) const;

  // The file `<profile>.<kind>`, such as kind "rows.jsonl"; empty if it is not
  // there. InvalidArgument if the profile, a text of a record, would lead out
  // of the folder.
  absl::StatusOr<std::string> FileOf(const std::string& profile,
                                     const std::string& kind) const;
  const std::string& folder() const { return folder_; }

 private:
  absl::StatusOr<std::string> PathOf(const std::string& profile,
                                     const std::string& kind) const;
  absl::StatusOr<absl::optional<MetricsFile>> ReadFlat(
      const std::string& profile, const std::string& kind) const;

  const std::string folder_;
};

// Smallest detectable change in percent, by job id. A job whose calibration
// detected nothing has a floor that no change exceeds.
std::map<std::string, double> FloorsOf(
    const std::vector<Calibration>& calibrations);

// The git checkout of a baseline folder, which decides whether it may be
// updated.
struct Checkout {
  std::string branch;
  Git git;
};

// Reads the checkout that contains `folder` or, if that does not exist yet, its
// nearest existing parent. All fields are empty outside of a checkout.
Checkout ReadCheckout(const std::string& folder);

// OK on branch main of a clean checkout, or if a reason is given. Otherwise
// FailedPrecondition says why not.
absl::Status MayUpdate(const Checkout& checkout,
                       const std::string& maintainer_reason);

struct NewBaseline {
  std::string machine_profile;
  // Such as "metrics.json".
  std::string kind;
  std::string content;
};

// Writes each baseline atomically. Keeps the replaced files in
// `FOLDER/history/`, and appends a line to `<profile>.updates.jsonl`. Returns
// these lines. REQUIRES: MayUpdate is OK.
absl::StatusOr<std::vector<BaselineUpdate>> UpdateBaselines(
    const std::string& folder, const std::vector<NewBaseline>& baselines,
    const Checkout& checkout, const std::string& maintainer_reason,
    absl::Time now);

}  // namespace feedrate
