#include "lib/runner/eval/eval_run.h"

#include <unistd.h>

#include <cmath>
#include <map>
#include <optional>
#include <regex>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/base/files.h"
#include "lib/base/memory_file.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/base/unique_fd.h"
#include "lib/config/load.h"
#include "lib/hash/sha256.h"
#include "lib/json/json.h"
#include "lib/model/flops.h"
#include "lib/model/worker/image_files.h"
#include "lib/model/worker/tokenizer.h"
#include "lib/runner/core/workers.h"
#include "lib/runner/train/train_processes.h"

namespace feedrate {
namespace {

// How checkpoints of `train` begin.
constexpr char kCheckpointWord[] = "feedrate_checkpoint";
// TorchScript modules are zip files.
constexpr char kZipWord[] = "PK";
// Nested groups recurse, so a long pattern would end the stack.
constexpr size_t kMaxPatternBytes = 1000;
constexpr const char* kProbes[] = {"basic_reasoning_25", "format_following_30",
                                   "code_sanity_20"};

absl::StatusOr<std::vector<EvalProbe>> LoadProbes(
    const std::vector<std::string>& files) {
  std::vector<EvalProbe> probes;
  for (const std::string& file : files) {
    ASSIGN_OR_RETURN(const std::string text, ReadFile(file));
    ASSIGN_OR_RETURN(EvalProbe probe, ParseProbe(text, file));
    probes.push_back(std::move(probe));
  }
  return probes;
}

std::string PromptsOf(const std::vector<EvalProbe>& probes) {
  std::string text;
  for (const EvalProbe& probe : probes) {
    for (const ProbeItem& item : probe.items) {
      absl::StrAppend(&text, item.prompt.size(), "\n", item.prompt, "\n");
    }
  }
  return text;
}

absl::Status Fill(const TrainReply& answers,
                  const std::vector<EvalProbe>& probes, Eval* eval) {
  eval->set_model(answers.model());
  eval->set_parameters(answers.parameters());
  eval->set_shard_bytes(answers.bytes());
  if (answers.bytes() > 0) {
    eval->set_loss(answers.loss_sum() / static_cast<double>(answers.bytes()));
    eval->set_perplexity(std::exp(eval->loss()));
    eval->set_bits_per_byte(eval->loss() / std::log(2.0));
  }
  size_t next = 0;
  int64_t items = 0;
  int64_t correct = 0;
  for (const EvalProbe& probe : probes) {
    if (next + probe.items.size() >
        static_cast<size_t>(answers.answers_size())) {
      return absl::DataLossError("a prompt was not answered");
    }
    const auto first = answers.answers().begin() + static_cast<int64_t>(next);
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

// The model of a checkpoint of train. Null for a TorchScript module, which is a
// language model.
const ModelSpec* ModelOf(const std::map<std::string, std::string>& meta) {
  const auto name = meta.find("model");
  return name == meta.end() ? nullptr : ModelNamed(name->second);
}

// The expression of a pattern. No pattern takes exponential time:
// back-references, the one feature that needs it, are refused.
std::regex RegexOf(const std::string& pattern) {
  return std::regex(pattern, std::regex_constants::ECMAScript |
                                 std::regex_constants::__polynomial);
}

// InvalidArgument unless a language model can be asked so. `model` is null for
// a TorchScript module.
absl::Status CheckText(const EvalRunOptions& options, const ModelSpec* model) {
  const int64_t context = model == nullptr ? kScriptContext : model->context;
  if (options.window > context) {
    return absl::InvalidArgumentError(
        absl::StrCat("--window: ", options.window,
                     " is too much; the model sees ", context, " tokens"));
  }
  if (options.tokenizer == "bytes") return absl::OkStatus();
  if (model != nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--tokenizer: ", model->name, " reads bytes; leave it out"));
  }
  RETURN_IF_ERROR(PlainFileBytes(options.tokenizer).status());
  try {
    Tokenizer::FromFile(options.tokenizer);
  } catch (const std::exception& e) {
    return absl::InvalidArgumentError(absl::StrCat("--tokenizer: ", e.what()));
  }
  return absl::OkStatus();
}

// The words that both kinds of models have, and their time limit.
absl::StatusOr<TrainCommand> CommandOf(const EvalRunOptions& options,
                                       const std::string& configs) {
  ASSIGN_OR_RETURN(const std::string worker,
                   ModelWorker(PlacesOfThisProgram(configs), "worker_eval"));
  TrainCommand command;
  command.argv = {worker, absl::StrCat("checkpoint=", options.checkpoint),
                  absl::StrCat("seed=", options.seed)};
  command.silence = options.timeout;
  command.memory_limit_bytes = options.memory_limit_bytes;
  return command;
}

absl::Status EvaluateText(const EvalRunOptions& options,
                          const std::string& configs, const ModelSpec* model,
                          Eval* eval) {
  RETURN_IF_ERROR(CheckText(options, model));
  const std::string folder = JoinPath(configs, "eval");
  const std::string shard =
      options.shard.empty() ? JoinPath(folder, "shard.txt") : options.shard;
  std::vector<std::string> files = options.probes;
  if (files.empty()) {
    for (const char* name : kProbes) {
      files.push_back(JoinPath(folder, absl::StrCat(name, ".jsonl")));
    }
  }
  ASSIGN_OR_RETURN(const std::vector<EvalProbe> probes, LoadProbes(files));
  RETURN_IF_ERROR(PlainFileBytes(shard).status());
  ASSIGN_OR_RETURN(const std::string text, ReadFile(shard));
  // In memory: another user could guess the name of a file.
  ASSIGN_OR_RETURN(const UniqueFd prompts,
                   WriteMemoryFile(PromptsOf(probes), "prompts"));
  ASSIGN_OR_RETURN(TrainCommand command, CommandOf(options, configs));
  for (const std::string& word :
       {absl::StrCat("tokenizer=", options.tokenizer),
        absl::StrCat("shard=", shard),
        absl::StrCat("shard_bytes=", options.shard_bytes),
        absl::StrCat("window=", options.window),
        absl::StrCat("prompts=/proc/", getpid(), "/fd/", prompts.get())}) {
    command.argv.push_back(word);
  }
  ASSIGN_OR_RETURN(const std::vector<TrainReply> results,
                   RunTrainProcesses(command));
  if (results[0].bytes() == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--shard: ", shard, ": its text has less than two tokens"));
  }
  eval->set_shard(BaseName(shard));
  eval->set_shard_sha256(Sha256Hex(text));
  return Fill(results[0], probes, eval);
}

absl::Status EvaluateImages(const EvalRunOptions& options,
                            const std::string& configs,
                            const std::map<std::string, std::string>& meta,
                            Eval* eval) {
  ImageFolder folder;
  folder.path = options.dataset;
  folder.classes = ModelOf(meta)->classes;
  const absl::StatusOr<LabeledImages> labeled =
      ListLabeledImages(folder, ClassesOfMeta(meta));
  if (!labeled.ok()) {
    return absl::Status(
        labeled.status().code(),
        absl::StrCat("--dataset: ", labeled.status().message()));
  }
  const std::string ignored = labeled->left_out.Text();
  if (!ignored.empty() && options.warn != nullptr) {
    options.warn(absl::StrCat("--dataset: ", options.dataset, ": ", ignored));
  }
  ASSIGN_OR_RETURN(TrainCommand command, CommandOf(options, configs));
  command.argv.push_back(absl::StrCat("dataset=", options.dataset));
  command.argv.push_back(absl::StrCat("workers=", options.workers));
  ASSIGN_OR_RETURN(const std::vector<TrainReply> results,
                   RunTrainProcesses(command));
  const TrainReply& scores = results[0];
  if (scores.skipped_size() > 0 && options.warn != nullptr) {
    options.warn(absl::StrCat(
        scores.skipped_files(), " files were skipped; the first: ",
        scores.skipped(0).path(), ": ", scores.skipped(0).reason()));
  }
  std::string list;
  for (const ImageFile& file : labeled->files) {
    absl::StrAppend(&list, file.label, "\t", file.folder, "/",
                    BaseName(file.path), "\t", file.bytes, "\n");
  }
  ASSIGN_OR_RETURN(const std::string id, DatasetId(options.dataset));
  const auto images = static_cast<double>(scores.images());
  eval->set_model(scores.model());
  eval->set_parameters(scores.parameters());
  eval->set_dataset(id);
  eval->set_dataset_sha256(Sha256Hex(list));
  eval->set_images(scores.images());
  eval->set_skipped_files(scores.skipped_files());
  eval->set_loss(scores.loss_sum() / images);
  eval->set_top1(100.0 * static_cast<double>(scores.top1()) / images);
  eval->set_top5(100.0 * static_cast<double>(scores.top5()) / images);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Eval> RunEvaluation(const EvalRunOptions& options) {
  ASSIGN_OR_RETURN(const std::string configs,
                   FindConfigsFolder(options.configs_folder, ""));
  if (options.seed < 0) {
    return absl::InvalidArgumentError("--seed must be at least 0");
  }
  RETURN_IF_ERROR(PlainFileBytes(options.checkpoint).status());
  ASSIGN_OR_RETURN(const std::string weights, ReadFile(options.checkpoint));
  std::map<std::string, std::string> meta;
  if (!absl::StartsWith(weights, kZipWord)) {
    if (!absl::StartsWith(weights, kCheckpointWord)) {
      return absl::InvalidArgumentError(
          absl::StrCat(options.checkpoint,
                       ": is neither a checkpoint of train nor a TorchScript "
                       "module"));
    }
    ASSIGN_OR_RETURN(meta, CheckpointMeta(options.checkpoint, options.warn));
  }
  const ModelSpec* const model = ModelOf(meta);
  const bool is_vit = model != nullptr && model->kind == ModelKind::kVit;
  if (is_vit && options.dataset.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--dataset: ", options.checkpoint, " is of the image model ",
        model->name, "; name a folder that has a subfolder per class"));
  }
  if (!is_vit && !options.dataset.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--dataset: ", options.checkpoint,
                     " is of a language model; leave --dataset out"));
  }
  Eval eval;
  eval.set_checkpoint_sha256(Sha256Hex(weights));
  eval.set_seed(options.seed);
  RETURN_IF_ERROR(is_vit ? EvaluateImages(options, configs, meta, &eval)
                         : EvaluateText(options, configs, model, &eval));
  return eval;
}

namespace {

absl::StatusOr<ProbeItem> ParseItem(absl::string_view line) {
  std::string why;
  const std::optional<Json> json =
      ParseJson(std::string_view(line.data(), line.size()), &why);
  if (!json.has_value() || !json->is_object()) {
    return absl::InvalidArgumentError("is no JSON object");
  }
  ProbeItem item;
  item.prompt = TextOf(*json, "prompt");
  item.answer = TextOf(*json, "answer");
  item.pattern = TextOf(*json, "pattern");
  if (item.prompt.empty()) {
    return absl::InvalidArgumentError("has no `prompt`");
  }
  if (item.answer.empty() == item.pattern.empty()) {
    return absl::InvalidArgumentError(
        "needs either an `answer` or a `pattern`");
  }
  if (item.pattern.size() > kMaxPatternBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("`pattern` has more than ", kMaxPatternBytes, " bytes"));
  }
  try {
    RegexOf(item.pattern);
  } catch (const std::regex_error& e) {
    return absl::InvalidArgumentError(absl::StrCat(
        "`pattern` is not a regular expression: ", std::string(e.what())));
  }
  return item;
}

}  // namespace

absl::StatusOr<EvalProbe> ParseProbe(absl::string_view text,
                                     const std::string& file) {
  EvalProbe probe;
  probe.name = std::string(absl::StripSuffix(BaseName(file), ".jsonl"));
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    absl::StatusOr<ProbeItem> item = ParseItem(line);
    if (!item.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(file, ":", number, ": ", item.status().message()));
    }
    probe.items.push_back(*std::move(item));
  }
  if (probe.items.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(file, ": has no question"));
  }
  return probe;
}

bool IsRight(const ProbeItem& item, const std::string& answer) {
  const std::string stripped(absl::StripAsciiWhitespace(answer));
  if (item.pattern.empty()) return stripped == item.answer;
  return std::regex_match(stripped, RegexOf(item.pattern));
}

ProbeResult ScoreProbe(const EvalProbe& probe,
                       const std::vector<std::string>& answers) {
  ProbeResult result;
  result.set_name(probe.name);
  result.set_items(static_cast<int64_t>(probe.items.size()));
  int64_t correct = 0;
  for (size_t i = 0; i < probe.items.size(); ++i) {
    correct += IsRight(probe.items[i], answers[i]) ? 1 : 0;
    result.add_answers(answers[i]);
  }
  result.set_correct(correct);
  result.set_accuracy(100.0 * static_cast<double>(correct) /
                      static_cast<double>(probe.items.size()));
  return result;
}

std::vector<EvalNumber> EvalNumbers(const Eval& eval) {
  std::vector<EvalNumber> numbers;
  const auto add = [&numbers](bool has, const char* name, double value) {
    if (has) numbers.push_back({name, value});
  };
  add(eval.has_perplexity(), "perplexity", eval.perplexity());
  add(eval.has_loss(), "loss", eval.loss());
  add(eval.has_bits_per_byte(), "bits_per_byte", eval.bits_per_byte());
  add(eval.has_probe_accuracy(), "probe_accuracy", eval.probe_accuracy());
  add(eval.has_top1(), "top1", eval.top1());
  add(eval.has_top5(), "top5", eval.top5());
  for (const ProbeResult& probe : eval.probes()) {
    numbers.push_back(
        {absl::StrCat("probes.", probe.name()), probe.accuracy()});
  }
  return numbers;
}

absl::StatusOr<std::vector<std::string>> CompareWithExpectation(
    const Eval& eval, absl::string_view text, const std::string& file) {
  std::string why;
  const std::optional<Json> json =
      ParseJson(std::string_view(text.data(), text.size()), &why);
  if (!json.has_value() || !json->is_object()) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": ", why.empty() ? "it is no JSON object" : why));
  }
  std::map<std::string, double> known;
  std::vector<std::string> names;
  for (const EvalNumber& number : EvalNumbers(eval)) {
    known[number.name] = number.value;
    names.push_back(number.name);
  }
  if (json->size() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(file,
                     ": expects nothing; name a number, as in "
                     "{\"loss\": {\"value\": 2, \"tolerance\": 0.1}}"));
  }
  std::vector<std::string> differences;
  for (const auto& [name, expected] : json->items()) {
    const Json* const number = MemberOf(expected, "value");
    const Json* const within = MemberOf(expected, "tolerance");
    const double value = number != nullptr && number->is_number()
                             ? number->get<double>()
                             : std::nan("");
    const double tolerance =
        within != nullptr && within->is_number() ? within->get<double>() : -1;
    if (std::isnan(value) || !(tolerance >= 0)) {
      return absl::InvalidArgumentError(absl::StrCat(
          file, ": \"", name, "\" needs a `value` and a `tolerance`"));
    }
    if (known.count(name) == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          file, ": \"", name, "\" is not a number of an evaluation",
          DidYouMean(name, names)));
    }
    // Not `>`: NaN must never count as expected.
    if (!(std::abs(known[name] - value) <= tolerance)) {
      differences.push_back(
          absl::StrFormat("%s is %.6g, expected %.6g within %.6g", name,
                          known[name], value, tolerance));
    }
  }
  return differences;
}

std::string EvalJson(const Eval& eval, const std::string& machine_profile) {
  OrderedJson json = {{"machine_profile", machine_profile},
                      {"model", eval.model()}};
  for (const EvalNumber& number : EvalNumbers(eval)) {
    json[number.name] = number.value;
  }
  return PrintJson(json);
}

}  // namespace feedrate
