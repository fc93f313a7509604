// Steps of robot episodes as the samples of a Loader: frames of one or several
// cameras, actions, state and instruction around each step, of one data set or
// a mixture of several.
//
//   ASSIGN_OR_RETURN(auto set, EpisodeSet::Open(sources, options));
//   ASSIGN_OR_RETURN(auto loader, Loader::Create(std::move(set), ...));
//
// docs/python_episodes.md explains what a sample is.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/loader/batch.h"
#include "lib/loader/episodes/sample_order.h"
#include "lib/loader/made_source.h"
#include "lib/loader/mixture/dataset_stream.h"
#include "lib/loader/mixture/episode.h"
#include "lib/loader/mixture/mixture_spec.h"

namespace feedrate {

// Where a sample takes frames or rows from, seen from its step. What lies
// beyond an end of the episode is the step at that end, and is marked.
struct StepOffsets {
  std::vector<double> at = {0};
  // Otherwise in steps.
  bool in_seconds = false;
};

struct EpisodeSetOptions {
  // What cameras are called: features, or their last parts. Empty: the main
  // camera of each data set, which batches call `image`.
  std::vector<std::string> cameras;
  StepOffsets frames;
  StepOffsets actions;
  StepOffsets states;
  // The caller relies on them, so that data without is an error.
  bool needs_actions = false;
  bool needs_states = false;
  // Larger frames are cropped to their center, smaller ones padded with zeros.
  FrameShape frame = {224, 224};
  SampleFormat format = SampleFormat::kBytePlanes;
  std::vector<double> mean = {0.485, 0.456, 0.406};
  std::vector<double> std = {0.229, 0.224, 0.225};
  int batch_size = 64;
  bool shuffle = false;
  uint64_t seed = 0;
  // Draws data sets by weight, without end. Otherwise an epoch has every step
  // of every episode once.
  bool by_weight = false;
  // Multiplies the weights by the numbers of steps.
  bool balance = false;
  // Episodes that cannot be read are an error instead of left out.
  bool fail = false;
};

// An array of a batch. It begins at `offset` times the batch size, and has
// `bytes` per sample.
struct BatchField {
  std::string key;
  // As numpy has it: `u1`, `b1`, `f4` or `i8`.
  const char* type = "";
  // Of a sample.
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
  // By camera.
  std::vector<int> frames;
  std::vector<int> frame_is_pad;
};

class EpisodeCache;

class EpisodeSet : public MadeSource {
 public:
  struct Dataset {
    MixtureSource source;
    // The feature of each camera.
    std::vector<std::string> cameras;
    std::vector<std::unique_ptr<MappedShard>> shards;
    std::vector<int64_t> frame_steps;
    std::vector<int64_t> action_steps;
    std::vector<int64_t> state_steps;
    int action_width = 0;
    int state_width = 0;
    // Its items and episodes follow each other.
    int64_t first_item = 0;
    int64_t steps = 0;
    int64_t first_episode = 0;
    int64_t episodes = 0;
    double weight = 1;
  };
  struct Entry {
    EpisodePlace place;
    int dataset = 0;
    // Its number in its data set, as the data has it.
    int64_t number = 0;
    int64_t first_item = 0;
    int64_t steps = 0;
  };
  // Where an item is.
  struct ItemStep {
    int64_t entry = 0;
    int64_t step = 0;
  };

  // Finds all episodes, and reads the first of each data set. Errors name the
  // data set and the file: NotFound, InvalidArgument, DataLoss, and
  // Unavailable if what decodes videos is missing.
  static absl::StatusOr<std::unique_ptr<EpisodeSet>> Open(
      std::vector<MixtureSource> sources, const EpisodeSetOptions& options);
  ~EpisodeSet() override;

  int64_t size() const override { return items_; }
  // NAME: episode 3, step 17.
  std::string name(int64_t item) const override;
  int64_t samples() const override;
  int64_t ItemAt(int64_t epoch, int64_t place) const override;
  int64_t Replacement(int64_t item, int64_t attempt) const override;
  int64_t sample_bytes() const override { return sample_bytes_; }
  std::unique_ptr<ItemMaker> NewMaker() override;

  const EpisodeSetOptions& options() const { return options_; }
  const std::vector<Dataset>& datasets() const { return datasets_; }
  const std::vector<Entry>& entries() const { return entries_; }
  const std::vector<BatchField>& fields() const { return fields_; }
  const EpisodeFields& places() const { return places_; }
  ItemStep Find(int64_t item) const;
  // Episodes that cannot be read, in words; empty if there are none.
  std::string left_out() const;

  // The number of a text that samples have, for as long as the set lives. The
  // numbers begin at 0. Thread-safe.
  int64_t NumberOf(absl::string_view text) const;
  // The texts from number `first` on.
  std::vector<std::string> TextsFrom(int64_t first) const;

  // Opens an episode, or takes it from those opened last. Thread-safe.
  absl::StatusOr<std::shared_ptr<const Episode>> OpenEpisode(
      int64_t entry) const;

  // Upper bounds in bytes of what the set needs besides batches.
  struct Memory {
    int64_t index = 0;
    int64_t episodes = 0;
    // Per thread.
    int64_t decoder = 0;
  };
  Memory memory() const;

 private:
  explicit EpisodeSet(const EpisodeSetOptions& options);

  absl::Status AddDataset(MixtureSource source);
  absl::Status ChooseCameras(Dataset* dataset) const;
  absl::Status FindEpisodes(int number);
  absl::Status LeaveOut(const Dataset& dataset, const absl::Status& reason);
  absl::Status ReadFirst(Dataset* dataset);
  absl::Status LayOut();
  int AddField(const std::string& key, const char* type,
               std::vector<int64_t> shape);
  EpisodeOptions EpisodeOptionsOf(const Dataset& dataset) const;

  const EpisodeSetOptions options_;
  std::vector<Dataset> datasets_;
  std::vector<Entry> entries_;
  std::unique_ptr<std::atomic<bool>[]> verified_;  // By entry.
  std::vector<BatchField> fields_;
  EpisodeFields places_;
  int64_t sample_bytes_ = 0;
  int64_t items_ = 0;
  int64_t largest_bytes_ = 0;
  int64_t video_bytes_ = 0;
  std::vector<std::string> unusable_;
  std::unique_ptr<EpisodeCache> cache_;

  mutable std::mutex order_mutex_;
  mutable int64_t order_epoch_ = -1;
  mutable std::shared_ptr<const WeightedOrder> order_;
  mutable std::mutex texts_mutex_;
  mutable std::map<std::string, int64_t, std::less<>> text_numbers_;
  mutable std::deque<std::string> texts_;
};

}  // namespace feedrate
