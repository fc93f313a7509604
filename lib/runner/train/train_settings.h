// What a job of mode `train` asks for: its fields and settings, checked, and as
// words for the process that trains.
#ifndef FEEDRATE_LIB_RUNNER_TRAIN_TRAIN_SETTINGS_H_
#define FEEDRATE_LIB_RUNNER_TRAIN_TRAIN_SETTINGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/model/flops.h"
#include "lib/records/records.pb.h"

namespace feedrate {

// The library that is ours; the others are PyTorch's ways to run a model.
inline constexpr char kTrainLibrary[] = "feedrate";
std::vector<std::string> TrainLibraries();
// The loader that is ours; the others run in a process of their own.
inline constexpr char kNativeLoader[] = "native";
// The one of mixtures, in the same process too.
inline constexpr char kMixtureLoader[] = "mixture";

struct TrainSettings {
  ModelSpec model;
  std::string precision = "fp32";
  std::string optimizer = "adamw";
  int accumulation = 1;
  int64_t warmup = 200;
  int64_t steps = 100;
  bool optimizer_in_step = true;
  bool graphs = false;
  bool activation_checkpointing = false;
  int world_size = 1;
  // What feeds it. Empty in scope `synthetic`.
  std::string loader;
  // NAME=VALUE of all the job's settings and of batch size, device and seed,
  // without rank and world size.
  std::vector<std::string> words;
};

// InvalidArgument names the setting that is unknown or out of range.
absl::StatusOr<TrainSettings> TrainSettingsOf(const Job& job);

// Names of the settings that a job may have.
std::vector<std::string> TrainSettingNames();

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_TRAIN_TRAIN_SETTINGS_H_
