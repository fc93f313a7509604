// What the program `plan` does, without its flags.
#ifndef FEEDRATE_LIB_PLANNING_PLAN_H_
#define FEEDRATE_LIB_PLANNING_PLAN_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/base/override_flags.h"
#include "lib/records/record_writer.h"

namespace feedrate {

struct PlanOptions {
  // Config files; a folder stands for all .textproto files in it.
  std::vector<std::string> configs;
  Overrides overrides;
  // `jobs`, `table`, `waves` or `resolved`.
  std::string emit = "jobs";
  // Of waves: `text` or `jsonl`.
  std::string format = "text";
  // Row files or folders whose runs are not planned again.
  std::vector<std::string> existing;
  // Only rows of this machine count as existing. Empty: any.
  std::string machine_profile;
  // Quota file. Empty: quotas/paper.textproto of the configs folder.
  std::string quota;
  // Folder with matrix and policy. Empty: found.
  std::string configs_folder;
  // Gets warnings, one line each.
  std::function<void(const std::string&)> warn;
};

// Plans every config and writes what `emit` asks for. Jobs are written as
// they are found; mistakes in all configs are found before the first is
// written. Reads each input once, so that pipes will do.
//
// `resolved`, where given, gets the resolved config as text. It and the emit
// of that name want exactly one config.
absl::Status RunPlan(const PlanOptions& options, RecordWriter* out,
                     std::string* resolved = nullptr);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_PLANNING_PLAN_H_
