// What worker_train is asked to do, as words of its command line.
#ifndef FEEDRATE_LIB_MODEL_WORKER_TRAIN_SPEC_H_
#define FEEDRATE_LIB_MODEL_WORKER_TRAIN_SPEC_H_

#include <cstdint>
#include <string>
#include <vector>

namespace feedrate {

// Each field is a word NAME=VALUE; what is left out has the value here.
struct TrainSpec {
  std::string model = "vit5_tiny";
  std::string device = "cpu";
  // Number of the GPU.
  int device_index = 0;
  std::string precision = "fp32";
  std::string optimizer = "adamw";
  double learning_rate = 1e-3;
  int64_t batch_size = 32;
  // Samples of the synthetic set; 0: four batches of all processes.
  int64_t samples = 0;
  // A file of text instead, and how many bytes of it a sample has; 0: all that
  // the model sees at once.
  std::string text;
  int64_t context = 0;
  // A folder of images instead, read by this loader (`native`, or another
  // library's), with so many workers, and which share of it.
  std::string loader;
  // Settings of the loader `mixture`, whose folder is one of episodes.
  std::string mixture;
  std::string folder;
  // Python and script that run another library's loader.
  std::string feeder;
  std::string feeder_script;
  int workers = 1;
  double sample_ratio = 1;
  // Above 0: as many steps as so many passes over the folder take.
  int64_t epochs = 0;
  // `constant`, or `linear`: down to zero at the last step.
  std::string schedule = "constant";
  int accumulation = 1;
  int64_t warmup = 200;
  int64_t steps = 100;
  int64_t seed = 0;
  std::string mixing;
  bool optimizer_in_step = true;
  bool graphs = false;
  bool activation_checkpointing = false;
  // Threads of an operation; 0: as libtorch likes.
  int threads = 0;

  int rank = 0;
  int world_size = 1;
  std::string store;
  int64_t bucket_bytes = 25 << 20;
  int timeout_s = 60;

  std::string profile;
  std::string profile_prefix;
  int profile_wait = 1;
  int profile_warmup = 1;
  int profile_active = 3;
  int profile_repeat = 1;

  // Where a checkpoint is written after the measured steps; empty: nowhere.
  std::string checkpoint;
  // And every so many steps; 0: only then.
  int64_t checkpoint_every = 0;
  // Leaves out what only training needs.
  bool checkpoint_weights_only = false;
  // A checkpoint to go on from.
  std::string resume;

  // Whether to measure what the device does at best, and to count products in
  // one more step.
  bool rates = true;
  bool count = true;
  // For tests: the process kills itself before this step. -1: never.
  int64_t die_at_step = -1;
};

// std::runtime_error with the word that is wrong.
TrainSpec ParseTrainSpec(const std::vector<std::string>& words);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MODEL_WORKER_TRAIN_SPEC_H_
