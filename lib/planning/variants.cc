#include "lib/planning/variants.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "lib/base/status_macros.h"
#include "lib/config/overrides.h"
#include "lib/config/places.h"
#include "lib/records/json.h"

namespace feedrate {
namespace {

struct NumberField {
  const char* name;
  int standard;
  int least;
};

// As the comments of MixtureConfig say.
constexpr NumberField kNumbers[] = {
    {"read_interleave", 2, 1},
    {"decode_parallelism", 0, 0},
    {"pipeline_interleave", 2, 1},
    {"mix_block_length", 4, 1},
    {"shuffle_buffer", 16, 1},
    {"queue_depth", 4, 1},
    {"samples_per_episode", 5, 0},
    {"pair_offset", 1, 1},
    {"prime_each_dataset_samples", 0, 0},
    {"steps", kMixtureSteps, 1},
    {"warmup", kMixtureWarmup, 0},
};

absl::Status ResolveNumbers(const FieldChecker& check, MixtureConfig* mixture) {
  const google::protobuf::Descriptor& type = *mixture->GetDescriptor();
  const google::protobuf::Reflection& reflection = *mixture->GetReflection();
  for (const NumberField& number : kNumbers) {
    const auto* const field = type.FindFieldByName(number.name);
    if (!reflection.HasField(*mixture, field)) {
      reflection.SetInt32(mixture, field, number.standard);
    }
    RETURN_IF_ERROR(check.AtLeast(absl::StrCat("mixture.", number.name),
                                  reflection.GetInt32(*mixture, field),
                                  number.least));
  }
  return absl::OkStatus();
}

absl::Status CheckWeights(const FieldChecker& check,
                          const MixtureConfig& mixture) {
  std::set<std::string> seen;
  for (int i = 0; i < mixture.weights_size(); ++i) {
    const DatasetWeight& entry = mixture.weights(i);
    const std::string path = absl::StrCat("mixture.weights[", i, "]");
    // They share a setting with others.
    if (entry.dataset().empty() ||
        entry.dataset().find_first_of("=,") != std::string::npos) {
      return check.Error(path + ".dataset",
                         absl::StrCat("\"", entry.dataset(),
                                      "\" is not a name of a data set"));
    }
    if (!seen.insert(entry.dataset()).second) {
      return check.Error(path + ".dataset", absl::StrCat("\"", entry.dataset(),
                                                         "\" is listed twice"));
    }
    if (entry.has_features() || entry.has_split()) {
      return check.Error(path,
                         absl::StrCat(entry.has_split() ? "split" : "features",
                                      " belongs to mixture.textproto, "
                                      "next to the data; move it there"));
    }
    if (!entry.has_weight()) {
      return check.Error(path + ".weight", "is missing; write a number");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ResolveMixture(const FieldChecker& check, absl::string_view mode,
                            int default_frame_size, RunConfig* config) {
  if (mode != "mixture") {
    if (!config->has_mixture()) return absl::OkStatus();
    return check.Error("mixture", absl::StrCat("is for mode mixture, not for ",
                                               mode, "; leave it out"));
  }
  MixtureConfig* const mixture = config->mutable_mixture();
  RETURN_IF_ERROR(CheckWeights(check, *mixture));
  RETURN_IF_ERROR(ResolveNumbers(check, mixture));
  // Leaves no trace, so that older ids stay.
  if (mixture->action_chunk() == 1) mixture->clear_action_chunk();
  if (mixture->has_action_chunk()) {
    RETURN_IF_ERROR(
        check.AtLeast("mixture.action_chunk", mixture->action_chunk(), 1));
  }
  if (!mixture->has_metadata()) mixture->set_metadata("none");
  RETURN_IF_ERROR(check.OneOf("mixture.metadata", mixture->metadata(),
                              {"none", "dataset_only", "full"}));
  if (!mixture->has_frame_size()) mixture->set_frame_size(default_frame_size);
  RETURN_IF_ERROR(
      check.AtLeast("mixture.frame_size", mixture->frame_size(), 16));
  if (mixture->frame_size() % 2 == 0) return absl::OkStatus();
  return check.Error("mixture.frame_size",
                     absl::StrCat(mixture->frame_size(),
                                  " is not possible; use an even number"));
}

std::map<std::string, std::string> MixtureSettings(
    const MixtureConfig& config) {
  std::map<std::string, std::string> settings;
  const google::protobuf::Reflection& reflection = *config.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection.ListFields(config, &fields);
  for (const auto* const field : fields) {
    if (field->is_repeated()) continue;
    settings[field->name()] =
        field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_STRING
            ? reflection.GetString(config, field)
            : absl::StrCat(reflection.GetInt32(config, field));
  }
  std::string& weights = settings["weights"];
  for (const DatasetWeight& entry : config.weights()) {
    absl::StrAppend(&weights, weights.empty() ? "" : ",", entry.dataset(), "=");
    AppendJsonDouble(entry.weight(), &weights);
  }
  if (weights.empty()) settings.erase("weights");
  return settings;
}

namespace {

// Settings of a job for what the config says beyond the job's own fields.
// Defaults leave no trace, so that ids do not depend on them.
std::map<std::string, std::string> SettingsOf(const RunConfig& config) {
  std::map<std::string, std::string> settings;
  if (config.has_mixture()) settings = MixtureSettings(config.mixture());
  if (config.data().sample_ratio() != 1) {
    AppendJsonDouble(config.data().sample_ratio(), &settings["sample_ratio"]);
  }
  if (config.execution().min_time() != 0) {
    AppendJsonDouble(config.execution().min_time(), &settings["min_time"]);
  }
  if (config.execution().min_batches() != 1) {
    settings["min_batches"] = std::to_string(config.execution().min_batches());
  }
  return settings;
}

}  // namespace

Variants::Variants(const RunConfig& resolved)
    : resolved_(resolved),
      base_(resolved),
      base_settings_(SettingsOf(resolved)),
      at_(resolved.sweep_size(), 0) {
  base_.clear_sweep();
  base_.mutable_selection()->clear_libraries();
  base_.mutable_selection()->clear_transforms();
}

bool Variants::Next(Variant* variant) {
  if (done_) return false;
  variant->config = base_;
  variant->settings = base_settings_;
  for (int i = 0; i < resolved_.sweep_size(); ++i) {
    const SweepAxis& axis = resolved_.sweep(i);
    const std::string& value = axis.values(at_[i]);
    const OverrideFlag* const flag = FindSweptFlag(axis.name());
    if (flag == nullptr) {
      variant->settings[axis.name()] = value;
    } else {
      CHECK(SetConfigField(*flag, value, &variant->config).ok());
    }
  }
  // `none` may come in through the sweep as well.
  if (variant->config.execution().device() == "none") {
    variant->config.mutable_execution()->set_device("cpu");
  }
  int i = resolved_.sweep_size() - 1;
  while (i >= 0 && ++at_[i] == resolved_.sweep(i).values_size()) at_[i--] = 0;
  done_ = i < 0;
  return true;
}

}  // namespace feedrate
