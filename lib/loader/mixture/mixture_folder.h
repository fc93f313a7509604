// A mixture on disk: one folder of TFRecord shards per data set, and
// mixture.textproto with their weights. Also writes synthetic mixtures.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/loader/mixture/dataset_folder.h"
#include "lib/loader/mixture/mixture_spec.h"
#include "lib/media/image.h"

namespace feedrate {

struct DatasetEntry {
  std::string name;
  double weight = 1;
};

// The content of mixture.textproto.
std::string MixtureFileText(const std::vector<DatasetEntry>& entries);
// Writes `folder`/mixture.textproto.
absl::Status WriteMixtureFile(const std::string& folder,
                              const std::vector<DatasetEntry>& entries);

// Reads the data sets of `folder`: weights from mixture.textproto, shards
// (files that end in .tfrecord or .tfrecords, or have it before `-`) sorted by
// name. Without that file every subfolder with a shard is a data set of weight
// 1, sorted by name. A folder that tensorflow-datasets wrote has features.json,
// which says what its features are called; of several versions the newest
// counts. A folder with meta/info.json is a LeRobot data set. A data set may
// have no shards and any weight; the caller decides what that means. NotFound
// if there is no data set.
absl::StatusOr<std::vector<MixtureSource>> ReadMixtureFolder(
    const std::string& folder);

// The data sets at a path: that whose folder it is, those of ReadMixtureFolder,
// or those of a mixture.textproto that is named itself.
struct EpisodeData {
  std::vector<MixtureSource> sources;
  // A mixture.textproto says the weights; otherwise all are 1.
  bool has_weights = false;
};
absl::StatusOr<EpisodeData> ReadEpisodeData(const std::string& path);

// All files that a data set is read from: its shards, and what is behind that
// of a LeRobot data set.
absl::StatusOr<std::vector<std::string>> MixtureFiles(
    const MixtureSource& source);

// Frames of a synthetic episode: a camera over a photograph drawn from a seed.
// It moves a little from frame to frame, an object moves faster in front of it,
// and the sensor has noise.
class SyntheticCamera {
 public:
  SyntheticCamera(uint64_t seed, int height, int width, int quality);

  // The pixels of a frame, and the frame as a JPEG file.
  Image Frame(int number) const;
  std::string Jpeg(int number) const;

 private:
  const Image picture_;
  const int height_;
  const int width_;
  const int quality_;
  const uint32_t grain_key_;
  int start_x_ = 0;
  int start_y_ = 0;
  int speed_x_ = 0;
  int speed_y_ = 0;
};

// Synthetic robot episodes, for mixtures without data: TFRecord data sets made
// from a seed, with the same bytes on every machine.
//
// The data sets differ as much as those that people mix: weights over two
// orders of magnitude, frames from 160 x 120 to 640 x 480, long and short
// episodes, more and less compression, and different widths of action and
// state.

struct SyntheticEpisodesSpec {
  int datasets = 29;
  // Mean number per data set; each has between half and one and a half of it.
  int episodes = 12;
  // Mean number per episode, over all data sets.
  int frames = 30;
  // Percent of the usual frame height and width.
  int scale = 100;
  // Most shards per data set; shards without episodes are not written.
  int shards = 3;
  uint64_t seed = 1;
};

// True for `synthetic:episodes`, with or without parameters.
bool IsSyntheticEpisodes(absl::string_view dataset);

// Parses `synthetic:episodes,datasets=N,episodes=N,frames=N,scale=N,shards=N,
// seed=S`. All parameters are optional. InvalidArgument says what is not
// understood.
absl::StatusOr<SyntheticEpisodesSpec> ParseSyntheticEpisodes(
    absl::string_view dataset);

// Properties of one synthetic data set.
struct SyntheticDataset {
  std::string name;  // `robot_00` and so on.
  double weight = 0;
  int height = 0;
  int width = 0;
  int quality = 0;
  int episodes = 0;
  int shards = 0;
  int frames = 0;  // Mean per episode.
  int action_width = 0;
  int state_width = 0;
  uint64_t seed = 0;
};
SyntheticDataset SyntheticDatasetOf(const SyntheticEpisodesSpec& spec,
                                    int index);

// Episode `index` as a serialized tf.train.Example with the features `frames`
// (JPEG), `action`, `state` (floats, one row per frame), `instruction` and
// `episode_id` (bytes).
std::string SyntheticEpisode(const SyntheticDataset& dataset, int index);

// Writes what is missing below `folder`: one folder of shards per data set, and
// last mixture.textproto with the weights.
absl::Status WriteSyntheticEpisodes(
    const SyntheticEpisodesSpec& spec, const std::string& folder,
    const std::function<void(int64_t done, int64_t total)>& progress);

// Lists of data sets and weights as other projects write them.

// Parses a list of pairs in Python or JSON, such as octo's
//
//   OXE_MAGIC_SOUP = [("bridge_dataset", 1.0), ("fractal20220817_data", 0.5)]
//
// `name` picks one of several lists by its name or key; empty takes the first.
// Comments begin with `#`. InvalidArgument gives the line of what is wrong.
absl::StatusOr<std::vector<DatasetEntry>> ParseMixtureList(
    absl::string_view text, absl::string_view name);

}  // namespace feedrate
