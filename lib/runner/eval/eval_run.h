// The run of `eval`, without its flags: asks a model questions, scores its
// answers, and compares them with what is expected.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "lib/records/train.pb.h"

namespace feedrate {

struct EvalRunOptions {
  std::string checkpoint;
  // `bytes`, or a file with one token per line.
  std::string tokenizer = "bytes";
  // Empty means that of configs/eval.
  std::string shard;
  std::vector<std::string> probes;
  // Number of bytes of the shard to use.
  int64_t shard_bytes = 8192;
  int64_t window = 128;
  int64_t seed = 42;
  // A labeled folder, for image models, and the threads that decode it and run
  // the model. Empty for language models, which alone use shard, probes and
  // tokenizer.
  std::string dataset;
  int workers = 1;
  std::string configs_folder;
  absl::Duration timeout = absl::Minutes(10);
  int64_t memory_limit_bytes = 0;
  // Gets what a caller should know, such as files that were skipped. May be
  // null.
  std::function<void(const std::string&)> warn;
};

// Evaluates the model in its own process. NotFound and InvalidArgument are
// mistakes that the caller can fix; Aborted, Unknown and the like mean that the
// process failed.
absl::StatusOr<Eval> RunEvaluation(const EvalRunOptions& options);

// One line of a probe, a file of questions with known answers: {"prompt":"2
// plus 2 is ","answer":"4"}, or with "pattern", a regular expression
// (ECMAScript without back-references) that the whole answer matches.
struct ProbeItem {
  std::string prompt;
  std::string answer;
  std::string pattern;
};

struct EvalProbe {
  // Name of the file, without folder and ending.
  std::string name;
  std::vector<ProbeItem> items;
};

// InvalidArgument with file and line: not JSON, no prompt, both or neither of
// answer and pattern, an invalid or long pattern; or no item at all.
absl::StatusOr<EvalProbe> ParseProbe(absl::string_view text,
                                     const std::string& file);

// Ignores spaces at either end of an answer.
bool IsRight(const ProbeItem& item, const std::string& answer);

// REQUIRES: one answer per item.
ProbeResult ScoreProbe(const EvalProbe& probe,
                       const std::vector<std::string>& answers);

// A number of an evaluation: perplexity, loss, bits_per_byte, probe_accuracy or
// probes.NAME; of images, loss, top1 or top5.
struct EvalNumber {
  std::string name;
  double value = 0;
};
std::vector<EvalNumber> EvalNumbers(const Eval& eval);

// `text` is a JSON object {"NAME": {"value": V, "tolerance": T}}. Returns one
// line for each number that differs by more than its tolerance; empty when all
// are as expected. InvalidArgument when the file is invalid or names an unknown
// number.
absl::StatusOr<std::vector<std::string>> CompareWithExpectation(
    const Eval& eval, absl::string_view text, const std::string& file);

// What `compare_baseline` reads as <machine_profile>.eval.json.
std::string EvalJson(const Eval& eval, const std::string& machine_profile);

}  // namespace feedrate
