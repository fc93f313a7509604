#include "lib/model/worker/eval_run.h"

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/log_softmax.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>
#include <torch/version.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <stdexcept>

#include "lib/adapters/torch/blas.h"
#include "lib/model/torch/checkpoint.h"
#include "lib/model/torch/model.h"
#include "lib/model/worker/image_files.h"
#include "lib/model/worker/image_scores.h"
#include "lib/model/worker/tokenizer.h"

namespace feedrate {
namespace {

// Maps tokens to logits, 1 x length x vocabulary.
using Forward = std::function<at::Tensor(const at::Tensor&)>;

struct LoadedModel {
  std::string name;
  int64_t parameters = 0;
  int64_t context = 0;
  Forward forward;
  ModelSpec spec;
  // The names of its classes. Empty if the checkpoint has none.
  std::vector<std::string> classes;
};

bool IsOurs(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string word;
  in >> word;
  return word == "feedrate_checkpoint";
}

// `kind` is what the caller can run.
LoadedModel LoadOurs(const std::string& path, ModelKind kind) {
  const Checkpoint checkpoint = LoadCheckpoint(path);
  const auto name = checkpoint.meta.find("model");
  const ModelSpec* const spec =
      name == checkpoint.meta.end() ? nullptr : ModelNamed(name->second);
  if (spec == nullptr || spec->kind != kind) {
    throw std::runtime_error(path + (kind == ModelKind::kVit
                                         ? ": is of no image model"
                                         : ": is of no byte language model"));
  }
  const std::shared_ptr<Model> model = MakeModel(*spec, ModelOptions());
  NamedTensors to;
  LoadedModel loaded;
  for (const Parameter& parameter : model->parameters()) {
    to.emplace_back(parameter.name, parameter.value);
    loaded.parameters += parameter.value.numel();
  }
  CopyTensors(checkpoint.tensors, to);
  loaded.name = spec->name;
  loaded.context = spec->context;
  loaded.spec = *spec;
  loaded.classes = ClassesOfMeta(checkpoint.meta);
  loaded.forward = [model](const at::Tensor& input) {
    return model->Forward(input);
  };
  return loaded;
}

std::shared_ptr<torch::jit::Module> LoadModule(const std::string& path) {
  try {
    return std::make_shared<torch::jit::Module>(
        torch::jit::load(path, at::kCPU));
  } catch (const c10::Error& e) {
    throw std::runtime_error(path +
                             ": is neither a checkpoint of train nor a "
                             "TorchScript module: " +
                             e.what_without_backtrace());
  }
}

LoadedModel LoadScript(const std::string& path) {
  const std::shared_ptr<torch::jit::Module> module = LoadModule(path);
  module->eval();
  LoadedModel loaded;
  loaded.name = "torchscript";
  loaded.context = kScriptContext;
  for (const at::Tensor& parameter : module->parameters()) {
    loaded.parameters += parameter.numel();
  }
  loaded.forward = [module](const at::Tensor& bytes) {
    return module->forward({bytes}).toTensor();
  };
  return loaded;
}

LoadedModel Load(const std::string& path, const Tokenizer& tokenizer) {
  if (!std::ifstream(path)) {
    throw std::runtime_error(path + ": cannot be read; is it there?");
  }
  if (!IsOurs(path)) return LoadScript(path);
  LoadedModel model = LoadOurs(path, ModelKind::kByteLm);
  if (tokenizer.size() != model.spec.vocabulary) {
    throw std::runtime_error(path + ": " + model.name +
                             " reads bytes; leave --tokenizer out");
  }
  return model;
}

std::string ReadAll(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream content;
  content << in.rdbuf();
  if (!in) throw std::runtime_error(path + ": cannot be read; is it there?");
  return content.str();
}

struct Loss {
  double sum = 0;
  int64_t bytes = 0;
};

// The last `count` tokens, or all, as int64.
at::Tensor TensorOf(const std::vector<int64_t>& tokens, size_t count) {
  const auto size = static_cast<int64_t>(std::min(count, tokens.size()));
  const at::Tensor tensor = at::empty({size}, at::kLong);
  std::copy(tokens.end() - size, tokens.end(),
            tensor.mutable_data_ptr<int64_t>());
  return tensor;
}

// Length x vocabulary.
at::Tensor LogitsOf(const LoadedModel& model, const Tokenizer& tokenizer,
                    const at::Tensor& tokens) {
  const at::Tensor logits = model.forward(tokens.unsqueeze(0));
  if (logits.dim() != 3 || logits.size(1) != tokens.size(0) ||
      logits.size(2) < tokenizer.size()) {
    std::ostringstream shape;
    shape << logits.sizes();
    throw std::runtime_error("the model answers " + shape.str() + " to " +
                             std::to_string(tokens.size(0)) + " tokens of " +
                             std::to_string(tokenizer.size()) +
                             "; 1 x length x vocabulary is wanted");
  }
  return logits[0];
}

// Loss over every token of a window but the first, and the bytes that they
// stand for.
Loss LossOf(const LoadedModel& model, const Tokenizer& tokenizer,
            const EvalSpec& spec) {
  const std::vector<int64_t> all =
      tokenizer.Encode(ReadAll(spec.shard).substr(0, spec.shard_bytes));
  const size_t window = std::min(spec.window, model.context);
  Loss loss;
  for (size_t first = 0; first + 1 < all.size(); first += window) {
    const size_t end = std::min(first + window, all.size());
    const std::vector<int64_t> part(all.data() + first, all.data() + end);
    const at::Tensor tokens = TensorOf(part, part.size());
    const int64_t count = tokens.numel() - 1;
    if (count < 1) continue;
    const at::Tensor logits =
        LogitsOf(model, tokenizer, tokens.narrow(0, 0, count));
    const at::Tensor logs = at::log_softmax(logits.to(at::kDouble), -1);
    const at::Tensor of_next =
        logs.gather(1, tokens.narrow(0, 1, count).unsqueeze(1));
    loss.sum -= of_next.sum().item<double>();
    for (size_t i = 1; i < part.size(); ++i) {
      loss.bytes += static_cast<int64_t>(tokenizer.Text(part[i]).size());
    }
  }
  return loss;
}

std::vector<std::string> ReadPrompts(const std::string& path) {
  const std::string content = ReadAll(path);
  std::vector<std::string> prompts;
  size_t at = 0;
  while (at < content.size()) {
    const size_t end = content.find('\n', at);
    const int64_t length =
        end == std::string::npos ? -1 : std::atoll(content.c_str() + at);
    if (length < 1 || end + 1 + length >= content.size()) {
      throw std::runtime_error(path + ": is not a file of prompts");
    }
    prompts.push_back(content.substr(end + 1, length));
    at = end + 2 + length;
  }
  return prompts;
}

// Appends the most likely token repeatedly, up to the end of a line.
std::string AnswerTo(const LoadedModel& model, const Tokenizer& tokenizer,
                     const EvalSpec& spec, const std::string& prompt) {
  std::vector<int64_t> tokens = tokenizer.Encode(prompt);
  std::string answer;
  while (static_cast<int64_t>(answer.size()) < spec.max_answer_bytes) {
    const at::Tensor logits =
        LogitsOf(model, tokenizer, TensorOf(tokens, model.context));
    tokens.push_back(at::argmax(logits[logits.size(0) - 1]).item<int64_t>());
    answer += tokenizer.Text(tokens.back());
    const size_t end = answer.find('\n');
    if (end != std::string::npos) return answer.substr(0, end);
  }
  return answer.substr(0, spec.max_answer_bytes);
}

// The sum of losses; std::runtime_error unless it is a number.
double Finite(double loss) {
  if (std::isfinite(loss)) return loss;
  throw std::runtime_error(
      "the loss is not finite: the weights of the checkpoint are of a training "
      "that diverged, or are damaged");
}

void EvaluateText(const EvalSpec& spec, TrainReply* reply) {
  const Tokenizer tokenizer = spec.tokenizer == "bytes"
                                  ? Tokenizer::Bytes()
                                  : Tokenizer::FromFile(spec.tokenizer);
  const LoadedModel model = Load(spec.checkpoint, tokenizer);
  Loss loss;
  if (!spec.shard.empty()) loss = LossOf(model, tokenizer, spec);
  reply->set_model(model.name);
  reply->set_parameters(model.parameters);
  reply->set_loss_sum(Finite(loss.sum));
  reply->set_bytes(loss.bytes);
  if (spec.prompts.empty()) return;
  for (const std::string& prompt : ReadPrompts(spec.prompts)) {
    reply->add_answers(AnswerTo(model, tokenizer, spec, prompt));
  }
}

void EvaluateImages(const EvalSpec& spec,
                    const std::function<void(const TrainReply&)>& tell,
                    TrainReply* reply) {
  const LoadedModel model = LoadOurs(spec.checkpoint, ModelKind::kVit);
  ImageFolder folder;
  folder.path = spec.dataset;
  folder.classes = model.spec.classes;
  const auto images = ListLabeledImages(folder, model.classes);
  if (!images.ok()) {
    throw std::runtime_error(std::string(images.status().message()));
  }
  LoaderBatchOptions options;
  options.batch_size = kScoredBatch;
  options.image_size = model.spec.image_size;
  options.workers = static_cast<int>(spec.workers);
  TrainReply progress;
  progress.set_event("progress");
  progress.set_total(static_cast<int64_t>(images->files.size()));
  int64_t done = 0;
  std::mutex mutex;
  const auto classify = [&](const at::Tensor& batch) {
    {
      const std::lock_guard<std::mutex> lock(mutex);
      done += batch.size(0);
      progress.set_done(done);
      tell(progress);
    }
    // Both apply to the thread that calls them.
    const at::AutoGradMode no_grad(false);
    at::set_num_threads(1);
    return model.forward(batch);
  };
  const ImageScores scores =
      ScoreImages(*images, options, spec.workers, classify);
  reply->set_model(model.name);
  reply->set_parameters(model.parameters);
  if (scores.images == 0) {
    throw std::runtime_error(spec.dataset +
                             ": none of its images can be decoded");
  }
  reply->set_loss_sum(Finite(scores.loss_sum));
  reply->set_images(scores.images);
  reply->set_top1(scores.top1);
  reply->set_top5(scores.top5);
  reply->set_skipped_files(scores.skipped.total +
                           static_cast<int64_t>(images->special.size()));
  for (const std::string& path : images->special) {
    SkippedItem* const file = reply->add_skipped();
    file->set_path(path);
    file->set_reason("is not a regular file");
  }
  for (const SkippedFiles::File& from : scores.skipped.first) {
    SkippedItem* const file = reply->add_skipped();
    file->set_path(from.path);
    file->set_reason(from.reason);
  }
}

int64_t WholeNumber(const std::string& word, const std::string& value) {
  char* end = nullptr;
  const int64_t number = std::strtoll(value.c_str(), &end, 10);
  if (value.empty() || *end != '\0' || number < 0) {
    throw std::runtime_error("\"" + word + "\" is not a whole number");
  }
  return number;
}

}  // namespace

EvalSpec ParseEvalSpec(const std::vector<std::string>& words) {
  EvalSpec spec;
  const std::map<std::string, std::string*> texts = {
      {"checkpoint", &spec.checkpoint},
      {"dataset", &spec.dataset},
      {"shard", &spec.shard},
      {"tokenizer", &spec.tokenizer},
      {"prompts", &spec.prompts}};
  const std::map<std::string, int64_t*> numbers = {
      {"shard_bytes", &spec.shard_bytes},
      {"window", &spec.window},
      {"max_answer_bytes", &spec.max_answer_bytes},
      {"seed", &spec.seed},
      {"workers", &spec.workers}};
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const std::string value =
        equals == std::string::npos ? "" : word.substr(equals + 1);
    if (texts.count(name) > 0) {
      *texts.at(name) = value;
    } else if (numbers.count(name) > 0) {
      *numbers.at(name) = WholeNumber(word, value);
    } else {
      throw std::runtime_error("\"" + word +
                               "\" is not a word of an evaluation");
    }
  }
  if (spec.window < 2) throw std::runtime_error("window must be at least 2");
  return spec;
}

void RunEval(const EvalSpec& spec,
             const std::function<void(const TrainReply&)>& tell) {
  const std::string foreign = ForeignBlas();
  if (!foreign.empty()) throw std::runtime_error(foreign);
  at::set_num_threads(1);
  at::AutoGradMode no_grad(false);
  TrainReply reply;
  reply.set_event("answers");
  if (spec.dataset.empty()) {
    EvaluateText(spec, &reply);
  } else {
    EvaluateImages(spec, tell, &reply);
  }
  tell(reply);
}

}  // namespace feedrate
