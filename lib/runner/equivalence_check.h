// Whether a library does what the transform means, asked once.
#ifndef FEEDRATE_LIB_RUNNER_EQUIVALENCE_CHECK_H_
#define FEEDRATE_LIB_RUNNER_EQUIVALENCE_CHECK_H_

#include "absl/status/statusor.h"
#include "lib/records/records.pb.h"
#include "lib/runner/input_corpora.h"
#include "lib/worker/child.h"

namespace feedrate {

class EquivalenceCheck {
 public:
  virtual ~EquivalenceCheck() = default;
  // Known from an earlier run, or not.
  virtual bool Find(const Job& job, const std::string& version,
                    const InputCorpora::Input& input, Equivalence* known) = 0;
  // Lets `child`, which has prepared the transform, show its outputs, and
  // compares. Fails as the child does.
  virtual absl::StatusOr<Equivalence> Check(const Job& job,
                                            const std::string& version,
                                            const InputCorpora::Input& input,
                                            MeasuredChild* child) = 0;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_EQUIVALENCE_CHECK_H_
