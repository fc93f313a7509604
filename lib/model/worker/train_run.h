// A complete training run: set up, warm up, measure, report.
#pragma once

#include <functional>
#include <string>

#include "lib/model/worker/train_spec.h"

namespace feedrate {

// Receives JSON objects: `event` is `ready` (the model is made), `progress`
// (about once per second), and last `result`.
using Tell = std::function<void(const std::string& json)>;

// Throws what libtorch throws, and std::runtime_error for errors in the spec.
void RunTraining(const TrainSpec& spec, const Tell& tell);

}  // namespace feedrate
