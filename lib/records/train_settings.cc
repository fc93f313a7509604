#include "lib/records/train_settings.h"

#include <cstdint>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "lib/base/text.h"

namespace feedrate {
namespace {

// No training has so many of anything.
constexpr double kMost = int64_t{1} << 30;

using Type = SettingType;

}  // namespace

const std::vector<TrainSetting>& TrainSettingTable() {
  static const auto& table = *new std::vector<TrainSetting>{
      {"model", "model", Type::kChoice, "vit5_tiny", 0, 0,
       "NAME: the model to train "
       "{vit5_tiny|vit5_small|vit5_base|byte_lm_tiny|byte_lm_small}"},
      {"precision", "precision", Type::kChoice, "", 0, 0,
       "NAME: number type of matrix products, by default bf16 on CUDA and fp32 "
       "on the CPU; bf16 and fp16 are autocast, fp16 with dynamic loss "
       "scaling; "
       "fp8 is for images on a Hopper {fp32|tf32|bf16|fp16|fp8}"},
      {"optimizer", "optimizer", Type::kChoice, "adamw", 0, 0,
       "NAME: optimizer {adamw|lamb}"},
      {"learning_rate", "learning_rate", Type::kPositive, "0.001", 0, 100,
       "RATE: learning rate of the optimizer"},
      {"schedule", "schedule", Type::kChoice, "constant", 0, 0,
       "NAME: how the learning rate falls after its warm-up, down to "
       "--learning_rate_min {constant|linear|cosine}"},
      {"schedule_steps", "schedule_steps", Type::kWhole, "0", 1, kMost,
       "N: the step at which --schedule ends, warm-up included; 0: with the "
       "last step, or where the schedule of --resume_from ends"},
      {"learning_rate_warmup", "learning_rate_warmup", Type::kWhole, "0", 0,
       kMost, "N: steps in which the learning rate rises"},
      {"learning_rate_min", "learning_rate_min", Type::kNumber, "0", 0, 100,
       "RATE: learning rate at the end of --schedule"},
      {"weight_decay", "weight_decay", Type::kNumber, "0.05", 0, 100,
       "RATE: decay of weights in the optimizer, not of biases and norms"},
      {"clip_norm", "clip_norm", Type::kNumber, "0", 0, 1e9,
       "NUMBER: scale gradients down to this norm of all together; 0: do not"},
      {"accumulation", "accumulation", Type::kWhole, "1", 1, kMost,
       "N: number of batches whose gradients are summed for one step"},
      {"warmup_steps", "warmup", Type::kWhole, "200", 0, kMost,
       "N: steps to run before the timed ones"},
      {"measured_steps", "steps", Type::kWhole, "100", 1, kMost,
       "N: steps to time"},
      {"epochs", "epochs", Type::kWhole, "0", 1, kMost,
       "N: measure this many passes over --dataset instead of "
       "--measured_steps"},
      {"", "samples", Type::kWhole, "", 1, kMost, ""},
      {"", "sample_ratio", Type::kPositive, "", 0, 1, ""},
      {"mixing", "mixing", Type::kChoice, "", 0, 0,
       "NAME: how to mix images {mixup|cutmix|both}"},
      {"label_smoothing", "label_smoothing", Type::kNumber, "0", 0, 0.99,
       "SHARE: probability that all classes of an image have in equal parts"},
      {"stochastic_depth", "stochastic_depth", Type::kNumber, "0", 0, 0.99,
       "SHARE: how many samples skip a branch of the last block; it grows from "
       "0 in the first block"},
      {"ema_decay", "ema_decay", Type::kNumber, "0", 0, 0.999999,
       "SHARE: keep averages of the weights, which move by 1 - SHARE of the "
       "difference in each step; 0: do not"},
      {"optimizer_in_step", "optimizer_in_step", Type::kTruth, "1", 0, 0,
       "Include the optimizer in the timed step; the row says so"},
      {"engine", "engine", Type::kChoice, "", 0, 0,
       "NAME: engine of library feedrate (fused or eager; the default is fused "
       "where it can train the model: a GPU, bf16) or of a subject (eager or "
       "compile; by default both, a row each) {fused|eager|compile}"},
      {"graphs", "graphs", Type::kTruth, "0", 0, 0,
       "Replay the step as a CUDA graph"},
      {"deterministic", "deterministic", Type::kTruth, "0", 0, 0,
       "compute the same bits in every training, on a GPU too; the attention "
       "of text is slower then"},
      {"activation_checkpointing", "activation_checkpointing", Type::kTruth,
       "0", 0, 0, "Recompute activations in the backward pass to save memory"},
      {"world_size", "world_size", Type::kWhole, "1", 1, kMost,
       "N: number of processes that train together, one per device; -1: one "
       "per available device, or as many as srun started"},
      {"", "bucket_bytes", Type::kWhole, "", 1, kMost, ""},
      {"threads", "threads", Type::kWhole, "0", 1, kMost,
       "N: threads per operation on the CPU; 0: all"},
      {"loader", "loader", Type::kChoice, "", 0, 0,
       "NAME: the loader for --scope=e2e, by default native, which reads "
       "--dataset: a folder, or tar shards or a store with native and cuda; "
       "several, separated by commas, make one job each "
       "{native|cuda|torchvision|dali|dali_gpu|mixture}"},
      // The loader of mixtures checks it.
      {"mixture", "mixture", Type::kText, "", 0, 0,
       "SETTINGS: settings for --loader=mixture, such as "
       "'queue_depth=8;metadata=full'"},
      {"augment", "augment", Type::kChoice, "flip", 0, 0,
       "NAME: with --scope=e2e, what the loader does after the random crop: a "
       "flip, or a flip, one of gray, solarize and blur, and color jitter "
       "{flip|three_augment}"},
      {"prefetch", "prefetch", Type::kWhole, "0", 1, kMost,
       "N: with --scope=e2e, batches that the loader may have ready; 0: as "
       "many as it usually has"},
      {"fused_decode", "fused_decode", Type::kChoice, "", 0, 0,
       "N: with --loader=dali or dali_gpu, whether the decoder crops, by "
       "default if no image is smaller than the crop {0|1}"},
  };
  return table;
}

std::vector<std::string> TrainSettingNames() {
  std::vector<std::string> names;
  for (const TrainSetting& setting : TrainSettingTable()) {
    names.push_back(setting.name);
  }
  return names;
}

const TrainSetting* FindTrainSetting(absl::string_view name) {
  for (const TrainSetting& setting : TrainSettingTable()) {
    if (name == setting.name) return &setting;
  }
  return nullptr;
}

absl::Status CheckTrainSetting(const TrainSetting& setting,
                               const std::string& value) {
  const std::string flag =
      absl::StrCat("--", *setting.flag == '\0' ? setting.name : setting.flag);
  int64_t whole = 0;
  double number = 0;
  switch (setting.type) {
    case SettingType::kText:
      return absl::OkStatus();
    case SettingType::kTruth:
      return CheckChoice(flag, value, {"0", "1"});
    case SettingType::kChoice:
      return CheckChoice(flag, value, ChoicesOf(setting.help));
    case SettingType::kWhole:
      if (absl::SimpleAtoi(value, &whole) && whole >= setting.least &&
          whole <= setting.most) {
        return absl::OkStatus();
      }
      return absl::InvalidArgumentError(
          absl::StrCat(flag, ": \"", value, "\" is not a whole number from ",
                       static_cast<int64_t>(setting.least), " to ",
                       static_cast<int64_t>(setting.most)));
    default:
      break;
  }
  const bool may_be_zero = setting.type == SettingType::kNumber;
  if (absl::SimpleAtod(value, &number) && number <= setting.most &&
      (number > 0 || (may_be_zero && number == 0))) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      flag, ": \"", value, "\" is not ", may_be_zero ? "0 or " : "",
      "above 0 and at most ", setting.most));
}

std::string TrainText(const Job& job, absl::string_view name) {
  const auto found = job.settings().find(std::string(name));
  if (found != job.settings().end()) return found->second;
  return FindTrainSetting(name)->usual;
}

double TrainNumber(const Job& job, absl::string_view name) {
  double number = 0;
  return absl::SimpleAtod(TrainText(job, name), &number) ? number : 0;
}

}  // namespace feedrate
