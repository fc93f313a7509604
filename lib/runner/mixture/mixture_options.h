// What flags say about mixtures.
#ifndef FEEDRATE_LIB_RUNNER_MIXTURE_MIXTURE_OPTIONS_H_
#define FEEDRATE_LIB_RUNNER_MIXTURE_MIXTURE_OPTIONS_H_

#include <string>

namespace feedrate {

struct MixtureRunOptions {
  // Shards are forgotten by the kernel before each run.
  bool cold = false;
  // What becomes of data that cannot be used: `fail` or `skip`.
  std::string on_error = "fail";
  // Seconds after which a teardown is killed.
  double teardown_limit_s = 10;
  // Where batch records go. Empty: beside the rows.
  std::string batches;
  // Of the run, for its rows. Filled in by the runner.
  std::string label;
  std::string note;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_MIXTURE_MIXTURE_OPTIONS_H_
