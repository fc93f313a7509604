// What a mixture of data sets consists of, as plain data.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace feedrate {

// How samples are drawn and batches made. The fields are those of MixtureConfig
// (lib/config/run_config.proto), which explains them.
struct MixtureSpec {
  int64_t batch_size = 64;
  int read_interleave = 2;
  int decode_parallelism = 0;
  int pipeline_interleave = 2;
  int mix_block_length = 4;
  int shuffle_buffer = 16;
  int queue_depth = 4;
  int samples_per_episode = 5;
  int pair_offset = 1;
  // `none`, `dataset_only` or `full`.
  std::string metadata = "none";
  int prime_each_dataset_samples = 0;
  int action_chunk = 1;
  // Size of a frame in a batch. Equal today; two fields, so that non-square
  // frames need no new message.
  int frame_height = 224;
  int frame_width = 224;
  // What to do with an item that cannot be used: `fail`, or `skip`, which
  // counts it.
  std::string on_error = "fail";
};

// A whole number of a mixture that settings name.
struct MixtureNumber {
  const char* name;
  int MixtureSpec::*field;
  int least;
};
const std::vector<MixtureNumber>& MixtureNumbers();

// InvalidArgument names a field that cannot be meant.
absl::Status CheckMixtureSpec(const MixtureSpec& spec);

// How a feature with numbers is written as bytes: its type as numpy names it,
// numbers per step, and whether they are compressed.
struct TensorEncoding {
  std::string dtype;
  int64_t values = 1;
  bool is_zlib = false;
};

// One data set of a mixture.
struct MixtureSource {
  std::string name;
  // Relative to the other data sets, above 0.
  double weight = 1;
  // Paths of its TFRecord files, which may be compressed by gzip.
  std::vector<std::string> shards;
  // Features of its records, as in EpisodeFeatures (run_config.proto). Empty
  // means that the records do not have it: texts and numbers are then empty,
  // and without an image no episode can be used.
  std::string image = "frames";
  std::vector<std::string> action = {"action"};
  std::vector<std::string> state = {"state"};
  std::string instruction = "instruction";
  std::string episode_id = "episode_id";
  // All features that hold frames.
  std::vector<std::string> cameras = {"frames"};
  // All features that hold numbers of steps, those of action and state too.
  std::vector<std::string> numbers;
  // Those that are written as bytes, by name.
  std::map<std::string, TensorEncoding> encoded;
  // Steps per second; 0 if the data does not say.
  double steps_per_s = 0;
};

}  // namespace feedrate
