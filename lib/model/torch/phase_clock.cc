#include "lib/model/torch/phase_clock.h"

#include <chrono>

namespace feedrate {
namespace {

class WallPhaseClock : public PhaseClock {
 public:
  void StartStep() override {
    current_ = StepTimes();
    start_ = last_ = MonotonicSeconds();
  }

  void Mark(Phase phase) override {
    const double now = MonotonicSeconds();
    current_.phase_s[phase] += now - last_;
    last_ = now;
  }

  void EndStep() override {
    current_.step_s = MonotonicSeconds() - start_;
    steps_.push_back(current_);
  }

  std::vector<StepTimes> Take() override { return std::move(steps_); }

 private:
  StepTimes current_;
  double start_ = 0;
  double last_ = 0;
  std::vector<StepTimes> steps_;
};

}  // namespace

const char* PhaseName(int phase) {
  static constexpr const char* kNames[kPhases] = {
      "data_wait", "copy",      "mixing",    "forward", "loss",
      "backward",  "grad_sync", "optimizer", "other",   "unattributed"};
  return kNames[phase];
}

std::unique_ptr<PhaseClock> MakeWallPhaseClock() {
  return std::make_unique<WallPhaseClock>();
}

double MonotonicSeconds() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace feedrate
