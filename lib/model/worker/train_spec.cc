#include "lib/model/worker/train_spec.h"

#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <stdexcept>

namespace feedrate {
namespace {

constexpr char kObjects[] = "objects.";
constexpr char kRecipe[] = "recipe.";

using Setter = std::function<bool(const std::string&)>;

bool ParseInt(const std::string& text, int64_t* value) {
  char* end = nullptr;
  *value = std::strtoll(text.c_str(), &end, 10);
  return !text.empty() && *end == '\0';
}

template <typename T>
Setter Int(T* field) {
  return [field](const std::string& text) {
    int64_t value = 0;
    if (!ParseInt(text, &value) || value < std::numeric_limits<T>::min() ||
        value > std::numeric_limits<T>::max()) {
      return false;
    }
    *field = static_cast<T>(value);
    return true;
  };
}

Setter Bool(bool* field) {
  return [field](const std::string& text) {
    if (text != "0" && text != "1") return false;
    *field = text == "1";
    return true;
  };
}

Setter Double(double* field) {
  return [field](const std::string& text) {
    char* end = nullptr;
    *field = std::strtod(text.c_str(), &end);
    return !text.empty() && *end == '\0';
  };
}

bool IsShare(double value) { return value >= 0 && value < 1; }

Setter Text(std::string* field) {
  return [field](const std::string& text) {
    *field = text;
    return true;
  };
}

std::map<std::string, Setter> Setters(TrainSpec* s) {
  return {
      {"model", Text(&s->model)},
      {"script", Text(&s->script)},
      {"device", Text(&s->device)},
      {"device_index", Int(&s->device_index)},
      {"precision", Text(&s->precision)},
      {"optimizer", Text(&s->optimizer)},
      {"learning_rate", Double(&s->learning_rate)},
      {"weight_decay", Double(&s->weight_decay)},
      {"clip_norm", Double(&s->clip_norm)},
      {"batch_size", Int(&s->batch_size)},
      {"samples", Int(&s->samples)},
      {"text", Text(&s->text)},
      {"context", Int(&s->context)},
      {"loader", Text(&s->loader)},
      {"mixture", Text(&s->mixture)},
      {"folder", Text(&s->folder)},
      {"feeder", Text(&s->feeder)},
      {"feeder_script", Text(&s->feeder_script)},
      {"workers", Int(&s->workers)},
      {"prefetch", Int(&s->prefetch)},
      {"fused_decode", Text(&s->fused_decode)},
      {"cold", Bool(&s->cold)},
      {"sample_ratio", Double(&s->sample_ratio)},
      {"epochs", Int(&s->epochs)},
      {"schedule", Text(&s->schedule)},
      {"schedule_steps", Int(&s->schedule_steps)},
      {"learning_rate_warmup", Int(&s->learning_rate_warmup)},
      {"learning_rate_min", Double(&s->learning_rate_min)},
      {"label_smoothing", Double(&s->label_smoothing)},
      {"stochastic_depth", Double(&s->stochastic_depth)},
      {"ema_decay", Double(&s->ema_decay)},
      {"accumulation", Int(&s->accumulation)},
      {"warmup", Int(&s->warmup)},
      {"steps", Int(&s->steps)},
      {"seed", Int(&s->seed)},
      {"mixing", Text(&s->mixing)},
      {"optimizer_in_step", Bool(&s->optimizer_in_step)},
      {"graphs", Bool(&s->graphs)},
      {"engine", Text(&s->engine)},
      {"activation_checkpointing", Bool(&s->activation_checkpointing)},
      {"deterministic", Bool(&s->deterministic)},
      {"threads", Int(&s->threads)},
      {"rank", Int(&s->rank)},
      {"world_size", Int(&s->world_size)},
      {"store", Text(&s->store)},
      {"bucket_bytes", Int(&s->bucket_bytes)},
      {"collectives", Text(&s->collectives)},
      {"timeout_s", Int(&s->timeout_s)},
      {"profile", Text(&s->profile)},
      {"profile_prefix", Text(&s->profile_prefix)},
      {"profile_wait", Int(&s->profile_wait)},
      {"profile_warmup", Int(&s->profile_warmup)},
      {"profile_active", Int(&s->profile_active)},
      {"profile_repeat", Int(&s->profile_repeat)},
      {"checkpoint", Text(&s->checkpoint)},
      {"checkpoint_every", Int(&s->checkpoint_every)},
      {"validation_folder", Text(&s->validation_folder)},
      {"validate_every", Int(&s->validate_every)},
      {"checkpoint_weights_only", Bool(&s->checkpoint_weights_only)},
      {"resume", Text(&s->resume)},
      {"import", Text(&s->import_weights)},
      {"export", Text(&s->export_weights)},
      {"export_ema", Text(&s->export_ema)},
      {"rates", Bool(&s->rates)},
      {"count", Bool(&s->count)},
      {"die_at_step", Int(&s->die_at_step)},
  };
}

}  // namespace

TrainSpec ParseTrainSpec(const std::vector<std::string>& words) {
  TrainSpec spec;
  const std::map<std::string, Setter> setters = Setters(&spec);
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    if (word.rfind(kObjects, 0) == 0 && equals != std::string::npos) {
      const size_t name = sizeof(kObjects) - 1;
      spec.objects[word.substr(name, equals - name)] = word.substr(equals + 1);
      continue;
    }
    if (word.rfind(kRecipe, 0) == 0 && equals != std::string::npos) {
      spec.recipe.push_back(word.substr(sizeof(kRecipe) - 1));
      continue;
    }
    const auto setter = setters.find(word.substr(0, equals));
    if (equals == std::string::npos || setter == setters.end() ||
        !setter->second(word.substr(equals + 1))) {
      throw std::runtime_error("\"" + word +
                               "\" is not a word NAME=VALUE of a "
                               "training");
    }
  }
  if (spec.batch_size < 1 || spec.accumulation < 1 || spec.steps < 1 ||
      spec.warmup < 0 || spec.world_size < 1 || spec.rank < 0 ||
      spec.rank >= spec.world_size || spec.workers < 0 || spec.clip_norm < 0 ||
      spec.prefetch < 0 || !(spec.weight_decay >= 0) ||
      spec.validate_every < 0 || spec.schedule_steps < 0 ||
      spec.learning_rate_warmup < 0 || !IsShare(spec.label_smoothing) ||
      !IsShare(spec.stochastic_depth) || !IsShare(spec.ema_decay) ||
      !(spec.sample_ratio > 0 && spec.sample_ratio <= 1)) {
    throw std::runtime_error("a number of the training is out of range");
  }
  return spec;
}

LearningRateSchedule ScheduleOf(
    const TrainSpec& spec, int64_t first_step,
    const std::map<std::string, std::string>& meta) {
  LearningRateSchedule schedule;
  schedule.kind = spec.schedule;
  schedule.rate = spec.learning_rate;
  schedule.least = spec.learning_rate_min;
  schedule.warmup = spec.learning_rate_warmup;
  schedule.steps = spec.schedule_steps;
  if (schedule.steps > 0) return schedule;
  const auto saved = meta.find(kScheduleSteps);
  if (saved == meta.end()) {
    schedule.steps = first_step + spec.warmup + spec.steps;
  } else if (!ParseInt(saved->second, &schedule.steps) || schedule.steps < 1) {
    throw std::runtime_error("the checkpoint's \"" +
                             saved->second.substr(0, 60) +
                             "\" is not a number of steps");
  }
  return schedule;
}

}  // namespace feedrate
