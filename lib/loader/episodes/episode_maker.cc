#include "lib/loader/episodes/episode_maker.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/loader/sample/fused_planes.h"

namespace feedrate {

std::shared_ptr<const Episode> EpisodeCache::Find(int64_t entry) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = places_.find(entry);
  if (found == places_.end()) return nullptr;
  kept_.splice(kept_.begin(), kept_, found->second);
  return kept_.front().episode;
}

void EpisodeCache::Keep(int64_t entry, int64_t bytes,
                        std::shared_ptr<const Episode> episode) {
  // Freed without the lock.
  std::vector<std::shared_ptr<const Episode>> dropped;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (places_.count(entry) > 0) return;
  kept_.push_front({entry, bytes, std::move(episode)});
  places_[entry] = kept_.begin();
  bytes_ += bytes;
  while (bytes_ > most_bytes_ && kept_.size() > 1) {
    dropped.push_back(std::move(kept_.back().episode));
    bytes_ -= kept_.back().bytes;
    places_.erase(kept_.back().entry);
    kept_.pop_back();
  }
}

struct EpisodeMaker::Sample {
  const EpisodeLayout& layout;
  const int64_t capacity;
  const EpisodeSet::Dataset& dataset;
  const EpisodeSet::Steps& steps_at;
  const Episode& episode;
  int64_t step;
  int64_t last;
  char* batch;
  int place;

  template <typename T>
  T* Field(int number) const {
    const BatchField& field = layout.fields[number];
    return reinterpret_cast<T*>(batch + field.offset * capacity +
                                field.bytes * place);
  }
  void Number(int number, int64_t value) const {
    *Field<int64_t>(number) = value;
  }
  // The step at an offset, and whether there is none.
  int64_t StepAt(int64_t offset) const {
    return std::clamp<int64_t>(step + offset, 0, last);
  }
  bool IsPad(int64_t offset) const {
    return step + offset < 0 || step + offset > last;
  }

  void Pads(int number, const std::vector<int64_t>& offsets) const {
    if (number < 0) return;
    auto* is_pad = Field<uint8_t>(number);
    for (const int64_t offset : offsets) *is_pad++ = IsPad(offset) ? 1 : 0;
  }

  // `row_of` is the row of a step, of `width` numbers.
  template <typename RowOf>
  void Rows(const EpisodeFields::Rows& fields,
            const std::vector<int64_t>& offsets, int width,
            const RowOf& row_of) const {
    if (fields.values < 0) return;
    auto* out = Field<float>(fields.values);
    for (const int64_t offset : offsets) {
      if (width > 0) {
        std::copy_n(row_of(static_cast<int>(StepAt(offset))), width, out);
      }
      std::fill(out + width, out + fields.width, 0.0f);
      out += fields.width;
    }
    Pads(fields.is_pad, offsets);
    auto* const mask = Field<uint8_t>(fields.mask);
    for (int i = 0; i < fields.width; ++i) mask[i] = i < width ? 1 : 0;
  }
};

EpisodeMaker::EpisodeMaker(const EpisodeSet& set, const EpisodeLayout& layout,
                           int64_t capacity)
    : set_(set),
      layout_(layout),
      capacity_(capacity),
      normalization_(
          MakeNormalization(set.options().mean, set.options().std, 255, 3)),
      decoder_(set.options().resize),
      pixels_(set.options().frame.bytes()) {
  if (!set.options().recipe.has_value() || &layout == &set.step_layout()) {
    return;
  }
  // It was made once when the set was opened.
  recipe_ = *SampleMaker::Create(*set.options().recipe);
}

absl::Status EpisodeMaker::Make(int64_t item, uint64_t seed, absl::string_view,
                                void* batch, int place) {
  const EpisodeSet::ItemStep where = set_.Find(item);
  const EpisodeSet::Entry& entry = set_.entries()[where.entry];
  ASSIGN_OR_RETURN(const std::shared_ptr<const Episode> episode,
                   set_.OpenEpisode(where.entry));
  const EpisodeSet::Dataset& dataset = set_.datasets()[entry.dataset];
  static const auto& single = *new EpisodeSet::Steps;
  const bool is_single = &layout_ == &set_.step_layout();
  const Sample sample{layout_,
                      capacity_,
                      dataset,
                      is_single ? single : dataset.steps_at,
                      *episode,
                      where.step,
                      entry.steps - 1,
                      static_cast<char*>(batch),
                      place};
  const EpisodeFields& fields = layout_.places;
  sample.Number(fields.dataset, entry.dataset);
  sample.Number(fields.episode, entry.number);
  sample.Number(fields.step, where.step);
  sample.Number(fields.index, item);
  if (fields.instruction >= 0) {
    sample.Number(
        fields.instruction,
        set_.NumberOf(episode->instruction(static_cast<int>(where.step))));
  }
  sample.Rows(fields.action, sample.steps_at.actions, dataset.action_width,
              [&](int step) { return episode->action(step); });
  sample.Rows(fields.state, sample.steps_at.states, dataset.state_width,
              [&](int step) { return episode->state(step); });
  for (size_t i = 0; i < fields.numbers.size(); ++i) {
    sample.Rows(fields.numbers[i], sample.steps_at.numbers,
                dataset.number_widths[i],
                [&](int step) { return episode->number(i, step); });
  }
  for (size_t camera = 0; camera < fields.frames.size(); ++camera) {
    RETURN_IF_ERROR(MakeFrames(sample, camera, MixSeeds(seed, camera)));
  }
  return absl::OkStatus();
}

absl::Status EpisodeMaker::MakeFrames(const Sample& sample, size_t camera,
                                      uint64_t seed) {
  const int number = layout_.places.frames[camera];
  const std::vector<int64_t>& offsets = sample.steps_at.frames;
  auto* const out = sample.Field<uint8_t>(number);
  sample.Pads(layout_.places.frame_is_pad[camera], offsets);
  const int64_t bytes =
      layout_.fields[number].bytes / static_cast<int64_t>(offsets.size());
  for (size_t i = 0; i < offsets.size(); ++i) {
    const int64_t step = sample.StepAt(offsets[i]);
    uint8_t* const frame = out + static_cast<int64_t>(i) * bytes;
    // Steps beyond an end are the same one.
    if (i > 0 && sample.StepAt(offsets[i - 1]) == step) {
      std::memcpy(frame, frame - bytes, bytes);
      continue;
    }
    const absl::Status made =
        MakeFrame(sample.episode.frames(camera)[step], seed, frame);
    if (!made.ok()) {
      return absl::Status(
          made.code(), absl::StrCat(sample.dataset.cameras[camera], " of step ",
                                    step, ": ", made.message()));
    }
  }
  return absl::OkStatus();
}

absl::Status EpisodeMaker::MakeFrame(absl::string_view file, uint64_t seed,
                                     uint8_t* out) {
  if (recipe_ != nullptr) {
    ASSIGN_OR_RETURN(const ImageView whole, decoder_.DecodeWhole(file));
    SampleTimes times;
    return recipe_->FromPixels(
        {whole.data, ptrdiff_t{3} * whole.width, whole.height, whole.width, 3},
        seed, out, &times);
  }
  const FrameShape& shape = set_.options().frame;
  const SampleFormat format = set_.options().format;
  if (format == SampleFormat::kBytePixels) {
    return decoder_.Decode(file, shape, out);
  }
  RETURN_IF_ERROR(decoder_.Decode(file, shape, pixels_.data()));
  const ptrdiff_t stride = ptrdiff_t{3} * shape.width;
  if (format == SampleFormat::kBytePlanes) {
    CopyToPlanes({pixels_.data(), stride, shape.height, shape.width, 3}, false,
                 3, out);
    return absl::OkStatus();
  }
  const PixelView view{pixels_.data(), stride, shape.height, shape.width, 3};
  auto* const floats = reinterpret_cast<float*>(out);
  if (format == SampleFormat::kFloatPlanes) {
    NormalizeToPlanes(view, false, normalization_, floats);
  } else {
    NormalizeToPixels(view, false, normalization_, floats);
  }
  return absl::OkStatus();
}

}  // namespace feedrate
