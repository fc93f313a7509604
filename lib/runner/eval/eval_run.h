// What `eval` does, without its flags.
#ifndef FEEDRATE_LIB_RUNNER_EVAL_EVAL_RUN_H_
#define FEEDRATE_LIB_RUNNER_EVAL_EVAL_RUN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lib/records/records.pb.h"

namespace feedrate {

struct EvalRunOptions {
  std::string checkpoint;
  // `bytes`, or a file with a token a line.
  std::string tokenizer = "bytes";
  // Empty: of configs/eval.
  std::string shard;
  std::vector<std::string> probes;
  // Bytes of the shard that are used.
  int64_t shard_bytes = 8192;
  int64_t window = 128;
  int64_t seed = 42;
  std::string configs_folder;
  absl::Duration timeout = absl::Minutes(10);
  int64_t memory_limit_bytes = 0;
};

// Asks the model in a process of its own. NotFound and InvalidArgument are the
// caller's to mend; Aborted, Unknown and the like mean that the process failed.
absl::StatusOr<Eval> RunEvaluation(const EvalRunOptions& options);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_EVAL_EVAL_RUN_H_
