// The command line of worker_train.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lib/model/schedule.h"

namespace feedrate {

// What worker_train does. Each field is a command-line word NAME=VALUE; omitted
// ones have the defaults here.
struct TrainSpec {
  std::string model = "vit5_tiny";
  // A TorchScript file to train instead.
  std::string script;
  std::string device = "cpu";
  // Number of the GPU.
  int device_index = 0;
  std::string precision = "fp32";
  std::string optimizer = "adamw";
  double learning_rate = 1e-3;
  double weight_decay = 0.05;
  // Scales gradients down to this norm of all together; 0: does not.
  double clip_norm = 0;
  int64_t batch_size = 32;
  // Samples of the synthetic set; 0: four batches of all processes.
  int64_t samples = 0;
  // A text file to train on instead, and the bytes per sample; 0: the model's
  // context length.
  std::string text;
  int64_t context = 0;
  // A folder of images to train on instead, read by this loader (`native`, or
  // another library's), with this many workers, and the share of it to use.
  std::string loader;
  // Settings of the loader `mixture`, whose folder contains episodes.
  std::string mixture;
  std::string folder;
  // If not empty, the images are in a store: words `objects.NAME=VALUE` of
  // lib/storage/object_store.h, and `folder` is for messages.
  std::map<std::string, std::string> objects;
  // Python and script that run another library's loader.
  std::string feeder;
  std::string feeder_script;
  int workers = 1;
  // Steps of the loader's recipe after the crop, as configs/transforms/ has
  // them for this loader: words `recipe.stepN=...`. Empty: a flip.
  std::vector<std::string> recipe;
  // Batches that the loader may have ready; 0: as many as it usually has.
  int prefetch = 0;
  // For DALI; see lib/model/worker/fed_batches.h.
  std::string fused_decode;
  // Drops the files from the page cache before training; otherwise they are
  // read once.
  bool cold = false;
  double sample_ratio = 1;
  // If above 0: train for this many passes over the folder.
  int64_t epochs = 0;
  // As in LearningRateSchedule (lib/model/schedule.h). `schedule_steps` 0: as
  // the checkpoint says, else all steps of this training.
  std::string schedule = "constant";
  int64_t schedule_steps = 0;
  int64_t learning_rate_warmup = 0;
  double learning_rate_min = 0;
  // As in MixingOptions, DepthOptions and TrainerOptions.
  double label_smoothing = 0;
  double stochastic_depth = 0;
  double ema_decay = 0;
  int accumulation = 1;
  int64_t warmup = 200;
  int64_t steps = 100;
  int64_t seed = 0;
  std::string mixing;
  bool optimizer_in_step = true;
  bool graphs = false;
  // `eager` (autograd), `fused` (a step written out for one GPU), or empty: the
  // fused one where it can train this, else eager.
  std::string engine;
  bool activation_checkpointing = false;
  // Two trainings compute the same bits, on a GPU too.
  bool deterministic = false;
  // Threads per operation; 0: libtorch's default.
  int threads = 0;

  int rank = 0;
  int world_size = 1;
  std::string store;
  int64_t bucket_bytes = 25 << 20;
  // `gloo` or `nccl`; empty: `nccl` on GPUs.
  std::string collectives;
  int timeout_s = 60;

  std::string profile;
  std::string profile_prefix;
  int profile_wait = 1;
  int profile_warmup = 1;
  int profile_active = 3;
  int profile_repeat = 1;

  // File for a checkpoint after the measured steps; empty: none.
  std::string checkpoint;
  // Also write it every this many steps; 0: only at the end.
  int64_t checkpoint_every = 0;
  // A labeled folder, and how often to evaluate the model on it: every so many
  // steps, and after the measured ones. 0: never.
  std::string validation_folder;
  int64_t validate_every = 0;
  // Leaves out what only training needs, and rounds weights to bf16.
  bool checkpoint_weights_only = false;
  // Checkpoint to continue from.
  std::string resume;
  // Safetensors files: the weights to begin with, and where to write those
  // after the measured steps, and their averages. Empty: none.
  std::string import_weights;
  std::string export_weights;
  std::string export_ema;

  // Whether to measure the device's maximum rates, and to count products and
  // profile kernels in extra steps.
  bool rates = true;
  bool count = true;
  // For tests: the process kills itself before this step. -1: never.
  int64_t die_at_step = -1;
};

// std::runtime_error with the wrong word.
TrainSpec ParseTrainSpec(const std::vector<std::string>& words);

// The schedule of a training that begins after `first_step` steps of the
// checkpoint whose lines are `meta`. Without a checkpoint both are empty.
LearningRateSchedule ScheduleOf(const TrainSpec& spec, int64_t first_step,
                                const std::map<std::string, std::string>& meta);

// Line of a checkpoint: the number of steps of its schedule.
inline constexpr char kScheduleSteps[] = "schedule.steps";

}  // namespace feedrate
