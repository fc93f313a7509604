// The settings of jobs of mode `train`, in one table: `train` has a flag for
// each, `plan` lets configs and sweeps name them, and commands that we print
// may repeat their flags.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lib/records/job.pb.h"

namespace feedrate {

// kNumber may be 0, kPositive may not. kTruth is `0` or `1` in jobs. A kChoice
// is one of the words that its help has in braces.
enum class SettingType {
  kWhole,
  kNumber,
  kPositive,
  kTruth,
  kChoice,
  kText,
};

struct TrainSetting {
  // Its flag of `train`. Empty: it has none.
  const char* flag;
  // Its key in the settings of a job.
  const char* name;
  SettingType type;
  // The value of a job that does not name it. Jobs leave it out, so that they
  // have the same id whether or not their caller typed it.
  const char* usual;
  // Smallest whole number, and largest number.
  double least;
  double most;
  // Of the flag.
  const char* help;
};

// The table. A new setting is a line there, and what uses it: mostly a field of
// lib/model/worker/train_spec.h.
const std::vector<TrainSetting>& TrainSettingTable();

std::vector<std::string> TrainSettingNames();

// Null if there is none of this name.
const TrainSetting* FindTrainSetting(absl::string_view name);

// InvalidArgument names the flag if `value` is not of the setting's type or
// outside its bounds.
absl::Status CheckTrainSetting(const TrainSetting& setting,
                               const std::string& value);

// The value in the job's settings, or the usual one. REQUIRES: the table has
// the name, and for numbers CheckTrainSetting is OK.
std::string TrainText(const Job& job, absl::string_view name);
double TrainNumber(const Job& job, absl::string_view name);

}  // namespace feedrate
