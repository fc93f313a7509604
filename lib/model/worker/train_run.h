// A complete training run: set up, warm up, measure, report.
#pragma once

#include <functional>

#include "lib/model/worker/train_spec.h"
#include "lib/records/train_worker.pb.h"

namespace feedrate {

// Receives `ready`, `progress`, and last `result`.
using Tell = std::function<void(const TrainReply& reply)>;

// Throws what libtorch throws, and std::runtime_error for errors in the spec.
void RunTraining(const TrainSpec& spec, const Tell& tell);

}  // namespace feedrate
