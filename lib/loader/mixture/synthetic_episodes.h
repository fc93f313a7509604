// Synthetic robot episodes: data sets of TFRecord shards made from a seed, the
// same bytes on every machine, for mixtures without data.
//
// The data sets are as unlike as those that people mix: weights over two orders
// of magnitude, frames from 160 x 120 to 640 x 480, long and short episodes,
// more and less compression, other widths of action and state.
#ifndef FEEDRATE_LIB_LOADER_MIXTURE_SYNTHETIC_EPISODES_H_
#define FEEDRATE_LIB_LOADER_MIXTURE_SYNTHETIC_EPISODES_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace feedrate {

struct SyntheticEpisodesSpec {
  int datasets = 29;
  // Of a data set on average; each has between half and one and a half of it.
  int episodes = 12;
  // Of an episode on average, over all data sets.
  int frames = 30;
  // Percent of the frames' usual height and width.
  int scale = 100;
  // Of each data set, at most: one without episodes is not written.
  int shards = 3;
  uint64_t seed = 1;
};

// True for `synthetic:episodes` with or without parameters.
bool IsSyntheticEpisodes(absl::string_view dataset);

// Reads `synthetic:episodes,datasets=N,episodes=N,frames=N,scale=N,shards=N,
// seed=S`, of which all but the kind may be left out. InvalidArgument says what
// is not understood.
absl::StatusOr<SyntheticEpisodesSpec> ParseSyntheticEpisodes(
    absl::string_view dataset);

// What one data set of the set is like.
struct SyntheticDataset {
  std::string name;  // `robot_00` and so on.
  double weight = 0;
  int height = 0;
  int width = 0;
  int quality = 0;
  int episodes = 0;
  int shards = 0;
  int frames = 0;  // Of an episode on average.
  int action_width = 0;
  int state_width = 0;
  uint64_t seed = 0;
};
SyntheticDataset SyntheticDatasetOf(const SyntheticEpisodesSpec& spec,
                                    int index);

// Episode `index` as a serialised tf.train.Example with the features `frames`
// (JPEG), `action`, `state` (floats, a row a frame), `instruction` and
// `episode_id` (bytes).
std::string SyntheticEpisode(const SyntheticDataset& dataset, int index);

// Writes what is missing of the set below `folder`: a folder for each data set
// with its shards, and mixture.textproto with the weights, last.
absl::Status WriteSyntheticEpisodes(
    const SyntheticEpisodesSpec& spec, const std::string& folder,
    const std::function<void(int64_t done, int64_t total)>& progress);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_MIXTURE_SYNTHETIC_EPISODES_H_
