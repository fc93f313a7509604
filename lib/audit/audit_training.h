// The whole audit of a training command: data set, runs, verdicts, reports.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/audit/run_training.h"
#include "lib/base/tool/exit_code.h"

namespace feedrate {

struct ItemsToMake {
  std::string folder;
  std::string layout;
  std::string python;
  // One number per source of a mixture, separated by commas.
  std::string items;
  int validation_items = 0;
  int classes = 0;
  int side = 0;
};

// Writes a data set whose items say which they are, by make_items.py. On
// success this process becomes that program, and does not return.
absl::StatusOr<ExitCode> MakeItems(const ItemsToMake& wanted);

struct AuditOptions {
  // Its hook, world size and work folder are set here.
  TrainingPlan plan;
  // The folder of the data set. Empty: the first word of the command that is
  // one.
  std::string dataset;
  std::vector<int> world_sizes;
  // How often a mixture should draw from each source. Empty: no mixture.
  std::vector<double> weights;
  // What `output` gets: jsonl, text, markdown, junit or html.
  std::string format;
  // `-` is standard output.
  std::string output;
  // Files whose endings say what they get.
  std::vector<std::string> reports;
};

// Audits the command at each world size, and writes the page for people to
// `log`. kCheckSaidNo if a fault was found, kRunFailed if the training failed
// by itself, kCannotTell if too little could be read.
absl::StatusOr<ExitCode> AuditTrainings(const AuditOptions& options,
                                        std::ostream& log);

}  // namespace feedrate
