// worker_eval: evaluates a language model; started by `eval`.
//
//   worker_eval checkpoint=m.ckpt shard=shard.txt
#include <string>
#include <vector>

#include "lib/adapters/torch/blas.h"
#include "lib/model/worker/answer.h"
#include "lib/model/worker/eval_run.h"

int main(int argc, char** argv) {
  feedrate::AvoidHiddenSve(argv);
  const std::vector<std::string> words(argv + 1, argv + argc);
  std::_Exit(feedrate::AnswerMain([&words] {
    feedrate::RunEval(feedrate::ParseEvalSpec(words), feedrate::Answer);
  }));
}
