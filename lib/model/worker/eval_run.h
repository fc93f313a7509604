// Evaluates a language model: its loss on a text, and its answers to prompts.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lib/records/train_worker.pb.h"

namespace feedrate {

struct EvalSpec {
  // One of our checkpoints, or a TorchScript module that maps int64 tokens, 1 x
  // length, to logits, 1 x length x vocabulary.
  std::string checkpoint;
  // `bytes`, or a file as described in tokenizer.h. Our models use bytes.
  std::string tokenizer = "bytes";
  // Text for the loss. Empty: no loss.
  std::string shard;
  // Bytes of the text to use, and tokens per window. Windows are independent.
  int64_t shard_bytes = 8192;
  int64_t window = 128;
  // A file: for each prompt its length in bytes, a newline, the prompt, a
  // newline. Empty: no prompts.
  std::string prompts;
  // Answers end at a newline, or at this length.
  int64_t max_answer_bytes = 24;
  int64_t seed = 42;
  // A labeled folder of images for an image model, instead of all text, and how
  // many threads decode images and run the model.
  std::string dataset;
  int64_t workers = 1;
};

// Parses words NAME=VALUE. std::runtime_error with the wrong word.
EvalSpec ParseEvalSpec(const std::vector<std::string>& words);

// Passes the event `answers` to `tell`, for images after `progress`. Runs in
// float32, each pass on one thread, so that results are identical each time.
// Throws what libtorch throws, and std::runtime_error for invalid files.
void RunEval(const EvalSpec& spec,
             const std::function<void(const TrainReply&)>& tell);

}  // namespace feedrate
