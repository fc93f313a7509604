// Where the parts of samples of episodes lie in the memory of a batch.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lib/loader/batch.h"
#include "lib/loader/mixture/dataset_stream.h"

namespace feedrate {

// An array of a batch. It begins at `offset` times the batch size, and has
// `bytes` per sample.
struct BatchField {
  std::string key;
  // As numpy has it: `u1`, `b1`, `f4` or `i8`.
  const char* type = "";
  // The shape of one sample.
  std::vector<int64_t> shape;
  int64_t offset = 0;
  int64_t bytes = 0;
};

// The fields by what they hold: numbers in EpisodeSet::fields, -1 for what a
// sample does not have.
struct EpisodeFields {
  int dataset = -1;
  int episode = -1;
  int step = -1;
  int index = -1;
  int instruction = -1;
  // A row per offset, whether it is padded, and which numbers of a row are of
  // the data set.
  struct Rows {
    int values = -1;
    int is_pad = -1;
    int mask = -1;
    int width = 0;
  };
  Rows action;
  Rows state;
  std::vector<Rows> numbers;
  // By camera.
  std::vector<int> frames;
  std::vector<int> frame_is_pad;
};

struct EpisodeLayout {
  std::vector<BatchField> fields;
  EpisodeFields places;
  int64_t sample_bytes = 0;
};

struct EpisodeLayoutSpec {
  std::vector<std::string> cameras;
  // Numbers of offsets; 0 leaves a part out.
  int64_t frames = 1;
  int64_t actions = 1;
  int64_t states = 1;
  int action_width = 0;
  int state_width = 0;
  // Keys and widths. Those of one number have no axis for it.
  std::vector<std::pair<std::string, int>> numbers;
  bool has_instructions = false;
  FrameShape frame;
  SampleFormat format = SampleFormat::kBytePlanes;
};

EpisodeLayout LayOutEpisodes(const EpisodeLayoutSpec& spec);

}  // namespace feedrate
