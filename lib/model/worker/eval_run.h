// A language model's loss on a text and its answers to prompts.
#ifndef FEEDRATE_LIB_MODEL_WORKER_EVAL_RUN_H_
#define FEEDRATE_LIB_MODEL_WORKER_EVAL_RUN_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace feedrate {

struct EvalSpec {
  // One of ours, or a TorchScript module that takes int64 tokens, 1 x length,
  // to logits, 1 x length x vocabulary.
  std::string checkpoint;
  // `bytes`, or a file as of tokenizer.h. Models of ours have bytes.
  std::string tokenizer = "bytes";
  // Text for the loss. Empty: none.
  std::string shard;
  // Only so much of it, in windows of so many tokens that know nothing of each
  // other.
  int64_t shard_bytes = 8192;
  int64_t window = 128;
  // A file: for each prompt its length in bytes, a newline, the prompt, a
  // newline. Empty: none.
  std::string prompts;
  // Answers end at a newline, or here.
  int64_t max_answer_bytes = 24;
  int64_t seed = 42;
};

// Words NAME=VALUE. std::runtime_error with the word that is wrong.
EvalSpec ParseEvalSpec(const std::vector<std::string>& words);

// Tells one JSON object, `event` is `answers`. In float32 on one thread, so
// that it is the same to the bit each time. Throws what libtorch throws, and
// std::runtime_error for files that are not as they should be.
void RunEval(const EvalSpec& spec,
             const std::function<void(const std::string&)>& tell);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MODEL_WORKER_EVAL_RUN_H_
