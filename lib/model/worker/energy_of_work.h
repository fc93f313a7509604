// Energy that a stretch of work uses.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "lib/machine/energy.h"
#include "lib/machine/gpu.h"
#include "lib/machine/root.h"

namespace feedrate {

// What is used from construction on, without pauses.
class EnergyOfWork {
 public:
  // `gpu` may be null.
  EnergyOfWork(const Root& root, std::unique_ptr<GpuEnergy> gpu)
      : meter_(root, std::move(gpu)), start_(meter_.Read()) {}

  void Pause() { pause_ = meter_.Read(); }
  void Resume() {
    const EnergyUse now = meter_.Read();
    // Not EnergyBetween: a pause may be short.
    AddPause(pause_.cpu_j, now.cpu_j, &left_out_.cpu_j);
    AddPause(pause_.gpu_j, now.gpu_j, &left_out_.gpu_j);
  }
  // A counter that a pause could not read is absent.
  EnergyUse Stop() {
    EnergyUse used = EnergyBetween(start_, meter_.Read());
    LeaveOut(left_out_.cpu_j, &used.cpu_j);
    LeaveOut(left_out_.gpu_j, &used.gpu_j);
    return used;
  }

 private:
  using Joules = std::optional<double>;

  static void AddPause(const Joules& before, const Joules& after, Joules* sum) {
    if (!before.has_value() || !after.has_value()) sum->reset();
    if (sum->has_value()) **sum += *after - *before;
  }
  static void LeaveOut(const Joules& part, Joules* used) {
    if (!part.has_value()) used->reset();
    if (used->has_value()) **used -= *part;
  }

  EnergyMeter meter_;
  const EnergyUse start_;
  EnergyUse pause_;
  EnergyUse left_out_{0, 0};
};

}  // namespace feedrate
