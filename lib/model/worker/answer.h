// How the measured processes of lib/model answer: JSON lines on descriptor 3 if
// a runner listens there, else on standard output.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

#include "lib/records/train_worker.pb.h"

namespace feedrate {

// A training whose loss or gradients are no longer finite.
class Diverged : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws it, with the step and what helps, unless `value` is finite.
void CheckFinite(double value, const std::string& what, int64_t step);

void Answer(const TrainReply& reply);

// Runs `body` and returns the exit code for main. An exception becomes an
// answer with the event `error` and exit code 1.
int AnswerMain(const std::function<void()>& body);

}  // namespace feedrate
