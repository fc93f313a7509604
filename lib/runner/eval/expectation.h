// What an evaluation should give, and whether it does.
#ifndef FEEDRATE_LIB_RUNNER_EVAL_EXPECTATION_H_
#define FEEDRATE_LIB_RUNNER_EVAL_EXPECTATION_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/records/records.pb.h"

namespace feedrate {

// Numbers of an evaluation by name: perplexity, loss, bits_per_byte,
// probe_accuracy and probes.NAME.
struct EvalNumber {
  std::string name;
  double value = 0;
};
std::vector<EvalNumber> EvalNumbers(const Eval& eval);

// A JSON object of {"NAME": {"value": V, "tolerance": T}}. Returns what differs
// by more, one line each; empty when all is as expected. InvalidArgument when
// the file is none, or names a number that there is not.
absl::StatusOr<std::vector<std::string>> CompareWithExpectation(
    const Eval& eval, absl::string_view text, const std::string& file);

// What `compare_baseline` reads as <machine_profile>.eval.json.
std::string EvalJson(const Eval& eval, const std::string& machine_profile);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_EVAL_EXPECTATION_H_
