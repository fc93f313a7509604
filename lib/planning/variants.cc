#include "lib/planning/variants.h"

#include <string>

#include "glog/logging.h"
#include "lib/config/run_config.pb.h"
#include "lib/planning/axis.h"
#include "lib/planning/mixture_config.h"
#include "lib/records/json.h"

namespace feedrate {
namespace {

// Settings of a job for what the config says beyond the job's own fields.
// Defaults leave no trace, so that ids do not depend on them.
std::map<std::string, std::string> SettingsOf(const RunConfig& config) {
  std::map<std::string, std::string> settings;
  if (config.has_mixture()) settings = MixtureSettings(config.mixture());
  if (config.data().sample_ratio() != 1) {
    AppendJsonDouble(config.data().sample_ratio(), &settings["sample_ratio"]);
  }
  if (config.execution().min_time() != 0) {
    AppendJsonDouble(config.execution().min_time(), &settings["min_time"]);
  }
  if (config.execution().min_batches() != 1) {
    settings["min_batches"] = std::to_string(config.execution().min_batches());
  }
  return settings;
}

}  // namespace

Variants::Variants(const RunConfig& resolved)
    : resolved_(resolved),
      base_(resolved),
      base_settings_(SettingsOf(resolved)),
      at_(resolved.sweep_size(), 0) {
  base_.clear_sweep();
  base_.mutable_selection()->clear_libraries();
  base_.mutable_selection()->clear_transforms();
}

bool Variants::Next(Variant* variant) {
  if (done_) return false;
  variant->config = base_;
  variant->settings = base_settings_;
  for (int i = 0; i < resolved_.sweep_size(); ++i) {
    const SweepAxis& axis = resolved_.sweep(i);
    const std::string& value = axis.values(at_[i]);
    if (FieldOfAxis(axis.name()).empty()) {
      variant->settings[axis.name()] = value;
    } else {
      CHECK(SetAxis(axis.name(), value, &variant->config).ok());
    }
  }
  // `none` may come in through the sweep as well.
  if (variant->config.execution().device() == "none") {
    variant->config.mutable_execution()->set_device("cpu");
  }
  int i = resolved_.sweep_size() - 1;
  while (i >= 0 && ++at_[i] == resolved_.sweep(i).values_size()) at_[i--] = 0;
  done_ = i < 0;
  return true;
}

}  // namespace feedrate
