// worker_train: runs and measures one training; started by `train`.
//
//   worker_train model=vit5_tiny batch_size=32 warmup=20 steps=50
#include <cstdlib>
#include <string>
#include <vector>

#include "lib/adapters/torch/blas.h"
#include "lib/model/worker/answer.h"
#include "lib/model/worker/train_run.h"
#include "lib/model/worker/train_spec.h"

int main(int argc, char** argv) {
  feedrate::AvoidHiddenSve(argv);
  // Kineto prints warnings on every machine without a GPU.
  setenv("KINETO_LOG_LEVEL", "99", /*overwrite=*/0);
  const std::vector<std::string> words(argv + 1, argv + argc);
  const int code = feedrate::AnswerMain([&words] {
    feedrate::RunTraining(feedrate::ParseTrainSpec(words), feedrate::Answer);
  });
  // Threads of gloo and autograd may still run; there is nothing to clean up.
  std::_Exit(code);
}
