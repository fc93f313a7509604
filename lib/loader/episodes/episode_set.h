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
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/loader/batch.h"
#include "lib/loader/episodes/episode_features.h"
#include "lib/loader/episodes/episode_layout.h"
#include "lib/loader/episodes/sample_order.h"
#include "lib/loader/made_source.h"
#include "lib/loader/mixture/dataset_stream.h"
#include "lib/loader/mixture/episode.h"
#include "lib/loader/mixture/mixture_spec.h"
#include "lib/loader/recipe.h"

namespace feedrate {

struct EpisodeSetOptions {
  std::vector<EpisodeFeature> cameras = {{"image", "", {}}};
  // Rows at the offsets of actions, or of the step itself without those.
  std::vector<EpisodeFeature> numbers;
  StepOffsets frames;
  StepOffsets actions;
  StepOffsets states;
  // The caller relies on them, so that data without is an error.
  bool needs_actions = false;
  bool needs_states = false;
  FrameResize resize;
  // Larger frames are cropped to their center, smaller ones padded with zeros.
  FrameShape frame = {224, 224};
  SampleFormat format = SampleFormat::kBytePlanes;
  std::vector<double> mean = {0.485, 0.456, 0.406};
  std::vector<double> std = {0.229, 0.224, 0.225};
  // Instead of the crop to the center, for samples: the same for all frames
  // that a sample has of a camera. Has the same crop, format, mean and std.
  std::optional<Recipe> recipe;
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

class EpisodeCache;
class EpisodeMaker;

class EpisodeSet : public MadeSource {
 public:
  // Offsets in steps.
  struct Steps {
    std::vector<int64_t> frames = {0};
    std::vector<int64_t> actions = {0};
    std::vector<int64_t> states = {0};
    std::vector<int64_t> numbers = {0};
  };
  struct Dataset {
    MixtureSource source;
    // The feature of each camera.
    std::vector<std::string> cameras;
    // The feature of each of numbers; empty if it does not have them.
    std::vector<std::string> numbers;
    std::vector<std::unique_ptr<MappedShard>> shards;
    Steps steps_at;
    int action_width = 0;
    int state_width = 0;
    std::vector<int> number_widths;
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
    // Its first instruction, by NumberOf; -1 for none.
    int64_t text = -1;
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
  int64_t sample_bytes() const override { return layout_.sample_bytes; }
  std::unique_ptr<ItemMaker> NewMaker() override;

  const EpisodeSetOptions& options() const { return options_; }
  const std::vector<Dataset>& datasets() const { return datasets_; }
  const std::vector<Entry>& entries() const { return entries_; }
  // How a batch is laid out. A whole episode has a layout of its own: its
  // samples are steps without what is around them.
  const EpisodeLayout& layout() const { return layout_; }
  const EpisodeLayout& step_layout() const { return step_layout_; }
  ItemStep Find(int64_t item) const;
  // Keeps only the episodes of which it is true, and numbers the items anew.
  // NotFound if a data set has none left. REQUIRES: nothing is read meanwhile.
  absl::Status Keep(const std::vector<bool>& kept);
  // Reads all steps of an episode, in order, to memory that is laid out as a
  // batch of them by step_layout(). Thread-safe.
  absl::Status ReadEpisode(int64_t entry, void* out) const;
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
  absl::Status FindEpisodes(int number);
  absl::Status LeaveOut(const Dataset& dataset, const absl::Status& reason);
  absl::Status ReadFirst(Dataset* dataset);
  // Gives the kept entries their places in the order of items.
  absl::Status Number();
  absl::Status LayOut();
  EpisodeLayoutSpec SpecOf(int64_t frames, int64_t actions,
                           int64_t states) const;
  EpisodeOptions EpisodeOptionsOf(const Dataset& dataset) const;

  const EpisodeSetOptions options_;
  std::vector<Dataset> datasets_;
  std::vector<Entry> entries_;
  std::unique_ptr<std::atomic<bool>[]> verified_;  // By entry.
  EpisodeLayout layout_;
  EpisodeLayout step_layout_;
  int64_t items_ = 0;
  int64_t largest_bytes_ = 0;
  int64_t decoder_bytes_ = 0;
  std::vector<std::string> unusable_;
  std::unique_ptr<EpisodeCache> cache_;
  // Those of ReadEpisode that nobody uses, with their open videos: one of many
  // episodes is not opened for each.
  mutable std::mutex makers_mutex_;
  mutable std::vector<std::unique_ptr<EpisodeMaker>> makers_;

  mutable std::mutex order_mutex_;
  mutable int64_t order_epoch_ = -1;
  mutable std::shared_ptr<const WeightedOrder> order_;
  mutable std::mutex texts_mutex_;
  mutable std::map<std::string, int64_t, std::less<>> text_numbers_;
  mutable std::deque<std::string> texts_;
};

}  // namespace feedrate
