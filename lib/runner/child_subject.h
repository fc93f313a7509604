// A measured child as the measuring wants it.
#ifndef FEEDRATE_LIB_RUNNER_CHILD_SUBJECT_H_
#define FEEDRATE_LIB_RUNNER_CHILD_SUBJECT_H_

#include "absl/status/statusor.h"
#include "lib/machine/process_counters.h"
#include "lib/machine/root.h"
#include "lib/measure/subject.h"
#include "lib/worker/child.h"

namespace feedrate {

class ChildSubject : public Subject {
 public:
  // `child` outlives this.
  ChildSubject(MeasuredChild* child, double clock_pair_s);

  absl::StatusOr<Timing> Time(const TimeRequest& request) override;
  NoiseCounters Count() override;
  double clock_pair_s() const override { return clock_pair_s_; }

 private:
  MeasuredChild* const child_;
  const double clock_pair_s_;
  const Root root_;
  const CycleCounter cycles_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_CHILD_SUBJECT_H_
