#include "lib/runner/eval/eval_run.h"

#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/config/load.h"
#include "lib/hash/sha256.h"
#include "lib/runner/eval/probe.h"
#include "lib/runner/train/train_processes.h"
#include "lib/runner/train/train_worker.h"
#include "lib/runner/worker_command.h"
#include "simdjson.h"

namespace feedrate {
namespace {

constexpr const char* kProbes[] = {"basic_reasoning_25", "format_following_30",
                                   "code_sanity_20"};

// Deletes a file when it goes out of scope.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string path) : path_(std::move(path)) {}
  ~TemporaryFile() { unlink(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

absl::StatusOr<std::vector<Probe>> LoadProbes(
    const std::vector<std::string>& files) {
  std::vector<Probe> probes;
  for (const std::string& file : files) {
    ASSIGN_OR_RETURN(const std::string text, ReadFile(file));
    ASSIGN_OR_RETURN(Probe probe, ParseProbe(text, file));
    probes.push_back(std::move(probe));
  }
  return probes;
}

std::string PromptsOf(const std::vector<Probe>& probes) {
  std::string text;
  for (const Probe& probe : probes) {
    for (const ProbeItem& item : probe.items) {
      absl::StrAppend(&text, item.prompt.size(), "\n", item.prompt, "\n");
    }
  }
  return text;
}

struct Answers {
  std::string model;
  int64_t parameters = 0;
  double loss_sum = 0;
  int64_t bytes = 0;
  std::vector<std::string> answers;
};

absl::StatusOr<Answers> ParseAnswers(const std::string& line) {
  simdjson::dom::parser parser;
  simdjson::dom::object json;
  std::string_view model;
  simdjson::dom::array list;
  Answers answers;
  if (parser.parse(line).get(json) != simdjson::SUCCESS ||
      json["model"].get(model) != simdjson::SUCCESS ||
      json["parameters"].get(answers.parameters) != simdjson::SUCCESS ||
      json["loss_sum"].get(answers.loss_sum) != simdjson::SUCCESS ||
      json["bytes"].get(answers.bytes) != simdjson::SUCCESS ||
      json["answers"].get(list) != simdjson::SUCCESS) {
    return absl::DataLossError(absl::StrCat(
        "worker_eval answered \"", line.substr(0, 60), "\"; rebuild it"));
  }
  answers.model = std::string(model);
  for (const simdjson::dom::element value : list) {
    std::string_view text;
    if (value.get(text) != simdjson::SUCCESS) {
      return absl::DataLossError("an answer is no text");
    }
    answers.answers.emplace_back(text);
  }
  return answers;
}

absl::Status Fill(const Answers& answers, const std::vector<Probe>& probes,
                  Eval* eval) {
  eval->set_model(answers.model);
  eval->set_parameters(answers.parameters);
  eval->set_shard_bytes(answers.bytes);
  if (answers.bytes > 0) {
    eval->set_loss(answers.loss_sum / static_cast<double>(answers.bytes));
    eval->set_perplexity(std::exp(eval->loss()));
    eval->set_bits_per_byte(eval->loss() / std::log(2.0));
  }
  size_t next = 0;
  int64_t items = 0;
  int64_t correct = 0;
  for (const Probe& probe : probes) {
    if (next + probe.items.size() > answers.answers.size()) {
      return absl::DataLossError("a prompt was not answered");
    }
    const auto first = answers.answers.begin() + static_cast<int64_t>(next);
    *eval->add_probes() = ScoreProbe(
        probe, std::vector<std::string>(
                   first, first + static_cast<int64_t>(probe.items.size())));
    next += probe.items.size();
    items += eval->probes().rbegin()->items();
    correct += eval->probes().rbegin()->correct();
  }
  if (items > 0) {
    eval->set_probe_accuracy(100.0 * static_cast<double>(correct) /
                             static_cast<double>(items));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Eval> RunEvaluation(const EvalRunOptions& options) {
  ASSIGN_OR_RETURN(const std::string configs,
                   FindConfigsFolder(options.configs_folder, ""));
  const std::string folder = JoinPath(configs, "eval");
  const std::string shard =
      options.shard.empty() ? JoinPath(folder, "shard.txt") : options.shard;
  std::vector<std::string> files = options.probes;
  if (files.empty()) {
    for (const char* name : kProbes) {
      files.push_back(JoinPath(folder, absl::StrCat(name, ".jsonl")));
    }
  }
  ASSIGN_OR_RETURN(const std::vector<Probe> probes, LoadProbes(files));
  ASSIGN_OR_RETURN(const std::string weights, ReadFile(options.checkpoint));
  ASSIGN_OR_RETURN(const std::string text, ReadFile(shard));
  ASSIGN_OR_RETURN(const std::string worker,
                   ModelWorker(PlacesOfThisProgram(configs), "worker_eval"));
  const TemporaryFile prompts(
      (std::filesystem::temp_directory_path() /
       absl::StrCat("feedrate_eval_", getpid(), ".prompts"))
          .string());
  RETURN_IF_ERROR(WriteFileAtomically(prompts.path(), PromptsOf(probes)));

  TrainCommand command;
  command.argv = {worker,
                  absl::StrCat("checkpoint=", options.checkpoint),
                  absl::StrCat("tokenizer=", options.tokenizer),
                  absl::StrCat("shard=", shard),
                  absl::StrCat("shard_bytes=", options.shard_bytes),
                  absl::StrCat("window=", options.window),
                  absl::StrCat("seed=", options.seed),
                  absl::StrCat("prompts=", prompts.path())};
  command.silence = options.timeout;
  command.memory_limit_bytes = options.memory_limit_bytes;
  ASSIGN_OR_RETURN(const std::vector<TrainResult> results,
                   RunTrainProcesses(command));
  ASSIGN_OR_RETURN(const Answers answers, ParseAnswers(results[0].answers));
  Eval eval;
  eval.set_checkpoint_sha256(Sha256Hex(weights));
  eval.set_seed(options.seed);
  eval.set_shard(BaseName(shard));
  eval.set_shard_sha256(Sha256Hex(text));
  RETURN_IF_ERROR(Fill(answers, probes, &eval));
  return eval;
}

}  // namespace feedrate
