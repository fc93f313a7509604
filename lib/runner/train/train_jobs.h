// Jobs of mode `train`: from flags, from a config, from a file, and what their
// settings mean.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "lib/config/overrides.h"
#include "lib/model/flops.h"
#include "lib/records/job.pb.h"
#include "lib/runner/core/job_list.h"
#include "lib/runner/train/multi_node.h"

namespace feedrate {

// Our own library; the others are ways of PyTorch to run a model.
inline constexpr char kTrainLibrary[] = "feedrate";
// Our own loaders, which run in the process that trains; others run in their
// own process. The second one also decodes on the GPU.
inline constexpr char kNativeLoader[] = "native";
inline constexpr char kGpuLoader[] = "cuda";
inline constexpr char kDali[] = "dali";
inline constexpr char kGpuDali[] = "dali_gpu";
// The loader of mixtures, which also runs in the process that trains.
inline constexpr char kMixtureLoader[] = "mixture";
// An augmentation: ThreeAugment of configs/transforms/rgb.textproto.
inline constexpr char kThreeAugment[] = "three_augment";

// Those settings of a job that `train` itself uses; see TrainSettingTable for
// what they mean.
struct TrainSettings {
  ModelSpec model;
  // Unless the job names it, bf16 on CUDA and fp32 on the CPU.
  std::string precision;
  std::string optimizer;
  double clip_norm = 0;
  int accumulation = 1;
  int64_t warmup = 0;
  int64_t steps = 0;
  bool optimizer_in_step = true;
  bool graphs = false;
  // Empty for the best that can train the model.
  std::string engine;
  bool activation_checkpointing = false;
  bool deterministic = false;
  double weight_decay = 0;
  std::string augment;
  int world_size = 1;
  // Empty in scope `synthetic`.
  std::string loader;
  // Arguments NAME=VALUE for the process that trains: all settings of the job,
  // batch size, device and seed, without rank and world size.
  std::vector<std::string> words;
};

// InvalidArgument names the setting that is unknown or out of range.
absl::StatusOr<TrainSettings> TrainSettingsOf(const Job& job);

// Applies settings to planned jobs and gives them new ids. Defaults leave no
// trace, except that a job always names its model and its precision. A world
// size above 1 also adds the same job with one process before it, for the
// scaling efficiency. InvalidArgument names what is wrong.
absl::StatusOr<std::vector<Job>> WithSettings(
    std::vector<Job> planned,
    const std::map<std::string, std::string>& settings);

// How many processes can each have a device of this machine: GPUs, or cores.
int DeviceCount(const std::string& device);

// Reads jobs from a file or standard input (`-`), as `plan` writes them.
// InvalidArgument when there are none or one is for another program.
absl::StatusOr<std::vector<Job>> ReadTrainJobs(const std::string& path);

// Where flags take the jobs of a run from.
struct TrainSource {
  // The config to plan from, or a file with jobs. Both empty: train.textproto
  // of the configs.
  std::string config;
  std::string jobs;
  // The matrix is here; empty means that it is searched for.
  std::string configs_folder;
  // `dataset` may name several folders, separated by commas.
  Overrides overrides;
  // Settings that flags name, for all jobs. A world_size of -1 means one
  // process per device, or as many as srun started.
  std::map<std::string, std::string> settings;
};

struct TrainJobs {
  JobList list;
  // Folders or addresses of data sets by their short names.
  std::map<std::string, std::string> folders;
};

// What `plan` makes of the source, with its settings. The same work has the
// same id, however it is asked for. `step` is the place of this process among
// those that srun started. InvalidArgument names what is wrong.
absl::StatusOr<TrainJobs> LoadTrainJobs(const TrainSource& source,
                                        const absl::optional<SlurmStep>& step);

}  // namespace feedrate
