#include "lib/loader/episodes/episode_set.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/loader/episodes/episode_maker.h"
#include "lib/loader/mixture/lerobot.h"
#include "lib/media/parallel.h"
#include "lib/ops/epoch_order.h"
#include "lib/storage/tfrecord.h"

namespace feedrate {
namespace {

// Enough that positions never reach it, and that sums with it stay below 2^63.
constexpr int64_t kEndless = int64_t{1} << 60;
// Numbers of 2,000 episodes of a LeRobot data set, or a dozen of RLDS with all
// their frames, which are in the page cache anyway.
constexpr int64_t kCacheBytes = int64_t{64} << 20;
constexpr char kEpisodeIndex[] = "episode_index";

// Features of TFDS that have one integer per step. They are much shorter than
// the frames, which lie all over the record.
constexpr const char* kStepFlags[] = {"steps/is_first", "steps/is_last",
                                      "steps/is_terminal"};

absl::StatusOr<int64_t> StepsOf(const ExampleView& example,
                                const std::string& camera) {
  std::vector<absl::string_view> texts;
  if (example.Bytes(kLerobotError, &texts).ok() && texts.size() == 1) {
    return absl::DataLossError(texts[0]);
  }
  std::vector<int64_t> flags;
  for (const char* const name : kStepFlags) {
    if (example.Integers(name, &flags).ok()) {
      return static_cast<int64_t>(flags.size());
    }
  }
  RETURN_IF_ERROR(example.Bytes(camera, &texts));
  return static_cast<int64_t>(texts.size());
}

}  // namespace

EpisodeSet::EpisodeSet(const EpisodeSetOptions& options)
    : options_(options), cache_(std::make_unique<EpisodeCache>(kCacheBytes)) {}

EpisodeSet::~EpisodeSet() = default;

absl::StatusOr<std::unique_ptr<EpisodeSet>> EpisodeSet::Open(
    std::vector<MixtureSource> sources, const EpisodeSetOptions& options) {
  if (options.recipe.has_value()) {
    ASSIGN_OR_RETURN(const auto maker, SampleMaker::Create(*options.recipe));
    const SampleShape& shape = maker->shape();
    if (shape.height != options.frame.height ||
        shape.width != options.frame.width) {
      return absl::InvalidArgumentError(
          absl::StrCat("transforms: frames become ", shape.height, "x",
                       shape.width, ", not the ", options.frame.height, "x",
                       options.frame.width, " of the crop"));
    }
  }
  auto set = absl::WrapUnique(new EpisodeSet(options));
  for (MixtureSource& source : sources) {
    RETURN_IF_ERROR(set->AddDataset(std::move(source)));
  }
  RETURN_IF_ERROR(set->Number());
  for (Dataset& dataset : set->datasets_) {
    RETURN_IF_ERROR(set->ReadFirst(&dataset));
  }
  RETURN_IF_ERROR(set->LayOut());
  return set;
}

absl::Status EpisodeSet::AddDataset(MixtureSource source) {
  Dataset& dataset = datasets_.emplace_back();
  dataset.source = std::move(source);
  if (!(dataset.source.weight > 0) || !std::isfinite(dataset.source.weight)) {
    return absl::InvalidArgumentError(absl::StrCat(
        PlaceOf(dataset.source), ": has the weight ", dataset.source.weight,
        "; give it one above 0, or leave the data set out"));
  }
  if (dataset.source.shards.empty()) {
    return absl::NotFoundError(absl::StrCat(
        PlaceOf(dataset.source), ": has no .tfrecord file; copy it again"));
  }
  ASSIGN_OR_RETURN(dataset.cameras,
                   ChooseCameras(options_.cameras, dataset.source));
  Steps& at = dataset.steps_at;
  ASSIGN_OR_RETURN(at.frames, InSteps(options_.frames, dataset.source));
  ASSIGN_OR_RETURN(at.actions, InSteps(options_.actions, dataset.source));
  ASSIGN_OR_RETURN(at.states, InSteps(options_.states, dataset.source));
  if (!at.actions.empty()) at.numbers = at.actions;
  return FindEpisodes(static_cast<int>(datasets_.size()) - 1);
}

absl::Status EpisodeSet::LeaveOut(const Dataset& dataset,
                                  const absl::Status& reason) {
  const absl::Status named = NamedStatus(
      absl::StrCat("data set \"", dataset.source.name, "\""), reason);
  if (options_.fail) return named;
  unusable_.emplace_back(named.message());
  return absl::OkStatus();
}

absl::Status EpisodeSet::FindEpisodes(int number) {
  Dataset& dataset = datasets_[number];
  const std::vector<std::string>& paths = dataset.source.shards;
  struct Found {
    std::vector<Entry> entries;
    std::vector<absl::Status> faults;
  };
  std::vector<Found> found(paths.size());
  dataset.shards.resize(paths.size());
  ParallelFor(static_cast<int64_t>(paths.size()), 0, [&](int64_t i) {
    auto shard = MappedShard::Open(paths[i]);
    if (!shard.ok()) {
      found[i].faults.push_back(shard.status());
      return;
    }
    dataset.shards[i] = *std::move(shard);
    const MappedShard& open = *dataset.shards[i];
    TfRecordCursor cursor(open.path(), open.bytes());
    ExampleView example;
    for (;;) {
      Entry entry;
      entry.dataset = number;
      entry.place.shard = &open;
      entry.place.offset = cursor.offset();
      entry.place.record = cursor.count();
      const auto data = cursor.NextUnchecked();
      if (!data.ok()) {
        found[i].faults.push_back(data.status());
        break;
      }
      if (!data->has_value()) break;
      entry.place.bytes = cursor.offset() - entry.place.offset;
      absl::StatusOr<int64_t> steps = 0;
      const absl::Status parsed = example.Parse(**data);
      if (parsed.ok())
        steps = StepsOf(example, dataset.cameras[0]);
      else
        steps = parsed;
      if (steps.ok() && *steps < 1) steps = absl::OutOfRangeError("is empty");
      entry.number = -1;
      std::vector<absl::string_view> texts;
      if (IsLerobotShard(open.path()) &&
          example.Bytes(kEpisodeIndex, &texts).ok() && texts.size() == 1 &&
          !absl::SimpleAtoi(texts[0], &entry.number)) {
        entry.number = -1;
      }
      const std::string& instruction = dataset.source.instruction;
      if (!instruction.empty() && example.Bytes(instruction, &texts).ok() &&
          !texts.empty()) {
        entry.text = NumberOf(texts[0]);
      }
      open.Release(entry.place.offset);
      if (!steps.ok()) {
        found[i].faults.push_back(NamedStatus(
            absl::StrCat(open.path(), ": record ", entry.place.record),
            steps.status()));
        continue;
      }
      entry.steps = *steps;
      found[i].entries.push_back(entry);
    }
  });
  int64_t next = 0;
  for (Found& shard : found) {
    for (const absl::Status& fault : shard.faults) {
      RETURN_IF_ERROR(LeaveOut(dataset, fault));
    }
    for (Entry& entry : shard.entries) {
      if (entry.number < 0) entry.number = next;
      ++next;
      largest_bytes_ = std::max(largest_bytes_, entry.place.bytes);
      entries_.push_back(entry);
    }
  }
  if (next > 0) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat(
      PlaceOf(dataset.source), ": has no episode that can be used",
      unusable_.empty() ? "" : absl::StrCat("; the last: ", unusable_.back())));
}

absl::Status EpisodeSet::Number() {
  items_ = 0;
  for (Dataset& dataset : datasets_) dataset.episodes = dataset.steps = 0;
  // Those of a data set follow each other.
  for (size_t i = 0; i < entries_.size(); ++i) {
    Entry& entry = entries_[i];
    Dataset& dataset = datasets_[entry.dataset];
    if (dataset.episodes++ == 0) {
      dataset.first_item = items_;
      dataset.first_episode = static_cast<int64_t>(i);
    }
    entry.first_item = items_;
    items_ += entry.steps;
    dataset.steps += entry.steps;
  }
  for (Dataset& dataset : datasets_) {
    if (dataset.episodes == 0) {
      return absl::NotFoundError(absl::StrCat("filter: keeps no episode of ",
                                              PlaceOf(dataset.source),
                                              "; leave the data set out"));
    }
    dataset.weight = dataset.source.weight;
    if (options_.balance) dataset.weight *= static_cast<double>(dataset.steps);
  }
  verified_.reset(new std::atomic<bool>[entries_.size()]());
  cache_ = std::make_unique<EpisodeCache>(kCacheBytes);
  return absl::OkStatus();
}

absl::Status EpisodeSet::Keep(const std::vector<bool>& kept) {
  std::vector<Entry> entries;
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (kept[i]) entries.push_back(entries_[i]);
  }
  entries_ = std::move(entries);
  return Number();
}

EpisodeOptions EpisodeSet::EpisodeOptionsOf(const Dataset& dataset) const {
  EpisodeOptions options;
  options.pair_offset = 0;
  options.metadata = MetadataMode::kFull;
  options.source = &dataset.source;
  options.cameras = dataset.cameras;
  options.numbers = dataset.numbers;
  return options;
}

absl::Status EpisodeSet::ReadFirst(Dataset* dataset) {
  static const auto& own = *new MixtureSource;
  if (dataset->source.cameras == own.cameras) {
    const EpisodePlace& place = entries_[dataset->first_episode].place;
    ExampleView example;
    RETURN_IF_ERROR(example.Parse(place.shard->bytes().substr(
        place.offset + kTfRecordHeadBytes,
        place.bytes - kTfRecordHeadBytes - kTfRecordTailBytes)));
    TakeFeatures(example, &dataset->source);
  }
  ASSIGN_OR_RETURN(dataset->numbers,
                   ChooseNumbers(options_.numbers, dataset->source));
  absl::Status last;
  for (int64_t i = 0; i < dataset->episodes; ++i) {
    const Entry& entry = entries_[dataset->first_episode + i];
    const auto episode =
        Episode::Open(entry.place, EpisodeOptionsOf(*dataset), 0);
    if (!episode.ok()) {
      last = episode.status();
      continue;
    }
    dataset->action_width = (*episode)->action_width();
    dataset->state_width = (*episode)->state_width();
    dataset->number_widths = (*episode)->number_widths();
    FrameDecoder decoder(options_.resize);
    std::vector<uint8_t> pixels(options_.frame.bytes());
    for (size_t camera = 0; camera < dataset->cameras.size(); ++camera) {
      const absl::Status decoded = decoder.Decode(
          (*episode)->frames(camera)[0], options_.frame, pixels.data());
      if (absl::IsUnavailable(decoded)) return decoded;
    }
    decoder_bytes_ =
        std::max(decoder_bytes_, decoder.video_bytes() + decoder.other_bytes());
    return absl::OkStatus();
  }
  return NamedStatus(absl::StrCat("data set \"", dataset->source.name, "\""),
                     last);
}

EpisodeLayoutSpec EpisodeSet::SpecOf(int64_t frames, int64_t actions,
                                     int64_t states) const {
  EpisodeLayoutSpec spec;
  for (const EpisodeFeature& camera : options_.cameras) {
    spec.cameras.push_back(camera.key);
  }
  spec.frames = frames;
  spec.actions = actions;
  spec.states = states;
  for (const Dataset& dataset : datasets_) {
    spec.action_width = std::max(spec.action_width, dataset.action_width);
    spec.state_width = std::max(spec.state_width, dataset.state_width);
    spec.has_instructions |= !dataset.source.instruction.empty();
  }
  for (size_t i = 0; i < options_.numbers.size(); ++i) {
    auto& [key, width] = spec.numbers.emplace_back(options_.numbers[i].key, 0);
    for (const Dataset& dataset : datasets_) {
      width = std::max(width, dataset.number_widths[i]);
    }
  }
  spec.frame = options_.frame;
  spec.format = options_.format;
  return spec;
}

absl::Status EpisodeSet::LayOut() {
  const auto count = [](const StepOffsets& offsets) {
    return static_cast<int64_t>(offsets.at.size());
  };
  layout_ = LayOutEpisodes(SpecOf(
      count(options_.frames), count(options_.actions), count(options_.states)));
  step_layout_ = LayOutEpisodes(SpecOf(1, options_.actions.at.empty() ? 0 : 1,
                                       options_.states.at.empty() ? 0 : 1));
  const std::string& first = datasets_[0].source.name;
  if (options_.needs_actions && layout_.places.action.width == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "actions: data set \"", first, "\" has none; leave actions out"));
  }
  if (options_.needs_states && layout_.places.state.width == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "state: data set \"", first, "\" has none; leave state out"));
  }
  for (size_t i = 0; i < options_.numbers.size(); ++i) {
    if (layout_.places.numbers[i].width > 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("numbers: ", PlaceOf(datasets_[0].source), ": has no \"",
                     options_.numbers[i].key, "\"",
                     datasets_.size() > 1 ? ", nor has another one" : "", "; ",
                     NumbersOf(datasets_[0].source)));
  }
  std::set<std::string> seen;
  for (const BatchField& field : layout_.fields) {
    if (!seen.insert(field.key).second) {
      return absl::InvalidArgumentError(absl::StrCat(
          "\"", field.key,
          "\" is there twice; name each of cameras and numbers once, and none "
          "like another part of a batch"));
    }
  }
  return absl::OkStatus();
}

absl::Status EpisodeSet::ReadEpisode(int64_t entry, void* out) const {
  const Entry& read = entries_[entry];
  std::unique_ptr<EpisodeMaker> maker;
  {
    const std::lock_guard<std::mutex> lock(makers_mutex_);
    if (!makers_.empty()) {
      maker = std::move(makers_.back());
      makers_.pop_back();
    }
  }
  if (maker == nullptr) {
    maker = std::make_unique<EpisodeMaker>(*this, step_layout_, 0);
  }
  maker->set_capacity(read.steps);
  for (int64_t step = 0; step < read.steps; ++step) {
    const absl::Status made =
        maker->Make(read.first_item + step, 0, {}, out, static_cast<int>(step));
    if (!made.ok()) return NamedStatus(name(read.first_item + step), made);
  }
  const std::lock_guard<std::mutex> lock(makers_mutex_);
  makers_.push_back(std::move(maker));
  return absl::OkStatus();
}

EpisodeSet::ItemStep EpisodeSet::Find(int64_t item) const {
  const auto after = std::upper_bound(
      entries_.begin(), entries_.end(), item,
      [](int64_t one, const Entry& entry) { return one < entry.first_item; });
  const int64_t entry = after - entries_.begin() - 1;
  return {entry, item - entries_[entry].first_item};
}

std::string EpisodeSet::name(int64_t item) const {
  const ItemStep where = Find(item);
  const Entry& entry = entries_[where.entry];
  return absl::StrCat("data set \"", datasets_[entry.dataset].source.name,
                      "\": episode ", entry.number, ", step ", where.step);
}

int64_t EpisodeSet::samples() const {
  return options_.by_weight ? kEndless : items_;
}

namespace {

// The seed of an epoch's order; differs from those of samples.
uint64_t OrderSeed(uint64_t seed, int64_t epoch) {
  return ItemSeed(~seed, epoch, -1);
}

}  // namespace

int64_t EpisodeSet::ItemAt(int64_t epoch, int64_t place) const {
  const uint64_t seed = OrderSeed(options_.seed, epoch);
  if (!options_.by_weight) {
    return options_.shuffle ? ShuffledPlace(seed, items_, place) : place;
  }
  std::shared_ptr<const WeightedOrder> order;
  {
    const std::lock_guard<std::mutex> lock(order_mutex_);
    if (order_epoch_ != epoch) {
      std::vector<double> weights;
      for (const Dataset& dataset : datasets_) {
        weights.push_back(dataset.weight);
      }
      order_ = std::make_shared<WeightedOrder>(weights, seed);
      order_epoch_ = epoch;
    }
    order = order_;
  }
  const Draw draw = order->At(place);
  const Dataset& dataset = datasets_[draw.dataset];
  const int64_t at = draw.number % dataset.steps;
  if (!options_.shuffle) return dataset.first_item + at;
  const uint64_t own =
      MixSeeds(MixSeeds(seed, draw.dataset + 1), draw.number / dataset.steps);
  return dataset.first_item + ShuffledPlace(own, dataset.steps, at);
}

int64_t EpisodeSet::Replacement(int64_t item, int64_t attempt) const {
  // Any step of the data set: the video of this episode may be damaged.
  const Dataset& dataset = datasets_[entries_[Find(item).entry].dataset];
  return dataset.first_item + ShuffledPlace(static_cast<uint64_t>(item),
                                            dataset.steps,
                                            attempt % dataset.steps);
}

std::unique_ptr<ItemMaker> EpisodeSet::NewMaker() {
  return std::make_unique<EpisodeMaker>(*this, layout_, options_.batch_size);
}

std::string EpisodeSet::left_out() const {
  if (unusable_.empty()) return "";
  return absl::StrCat(unusable_.size(),
                      " episodes or files cannot be read and "
                      "are left out; the first: ",
                      unusable_[0]);
}

int64_t EpisodeSet::NumberOf(absl::string_view text) const {
  const std::lock_guard<std::mutex> lock(texts_mutex_);
  const auto found = text_numbers_.find(text);
  if (found != text_numbers_.end()) return found->second;
  const auto number = static_cast<int64_t>(texts_.size());
  texts_.emplace_back(text);
  text_numbers_.emplace(text, number);
  return number;
}

std::vector<std::string> EpisodeSet::TextsFrom(int64_t first) const {
  const std::lock_guard<std::mutex> lock(texts_mutex_);
  const auto size = static_cast<int64_t>(texts_.size());
  if (first < 0 || first >= size) return {};
  return {texts_.begin() + first, texts_.end()};
}

absl::StatusOr<std::shared_ptr<const Episode>> EpisodeSet::OpenEpisode(
    int64_t number) const {
  std::shared_ptr<const Episode> episode = cache_->Find(number);
  if (episode != nullptr) return episode;
  const Entry& entry = entries_[number];
  const Dataset& dataset = datasets_[entry.dataset];
  EpisodeOptions options = EpisodeOptionsOf(dataset);
  options.verify = !verified_[number].load(std::memory_order_relaxed);
  ASSIGN_OR_RETURN(episode, Episode::Open(entry.place, options, 0));
  const auto wrong = [&](absl::string_view what, int64_t has, int64_t needs) {
    return absl::InvalidArgumentError(
        absl::StrCat(episode->name(), ": has ", has, " ", what,
                     ", and its data set began with ", needs));
  };
  const auto steps = static_cast<int64_t>(episode->frames().size());
  if (steps != entry.steps) return wrong("frames", steps, entry.steps);
  if (episode->action_width() != dataset.action_width) {
    return wrong("numbers per action", episode->action_width(),
                 dataset.action_width);
  }
  if (episode->state_width() != dataset.state_width) {
    return wrong("numbers per state", episode->state_width(),
                 dataset.state_width);
  }
  int64_t width = dataset.action_width + dataset.state_width;
  for (size_t i = 0; i < dataset.numbers.size(); ++i) {
    const int has = episode->number_widths()[i];
    const int needs = dataset.number_widths[i];
    if (has != needs) return wrong(dataset.numbers[i], has, needs);
    width += needs;
  }
  verified_[number].store(true, std::memory_order_relaxed);
  const auto views = static_cast<int64_t>(sizeof(absl::string_view));
  cache_->Keep(
      number,
      entry.place.bytes +
          steps * (4 * width +
                   views * static_cast<int64_t>(dataset.cameras.size() + 1)),
      episode);
  return episode;
}

EpisodeSet::Memory EpisodeSet::memory() const {
  Memory memory;
  memory.index = static_cast<int64_t>(
      entries_.size() * (sizeof(Entry) + sizeof(std::atomic<bool>)));
  memory.episodes = kCacheBytes + largest_bytes_;
  memory.decoder = decoder_bytes_ +
                   2 * static_cast<int64_t>(options_.frame.bytes()) +
                   largest_bytes_;
  return memory;
}

}  // namespace feedrate
