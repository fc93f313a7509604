#include "lib/loader/episodes/episode_layout.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace feedrate {
namespace {

int AddField(const std::string& key, const char* type,
             std::vector<int64_t> shape, EpisodeLayout* layout) {
  BatchField& field = layout->fields.emplace_back();
  field.key = key;
  field.type = type;
  field.bytes = type[1] - '0';
  for (const int64_t side : shape) field.bytes *= side;
  field.shape = std::move(shape);
  field.offset = layout->sample_bytes;
  layout->sample_bytes += field.bytes;
  return static_cast<int>(layout->fields.size()) - 1;
}

}  // namespace

EpisodeLayout LayOutEpisodes(const EpisodeLayoutSpec& spec) {
  EpisodeLayout layout;
  EpisodeFields& places = layout.places;
  places.action.width = spec.action_width;
  places.state.width = spec.state_width;
  // Wide types first, so that each field is aligned whatever the batch size.
  places.dataset = AddField("dataset", "i8", {}, &layout);
  places.episode = AddField("episode", "i8", {}, &layout);
  places.step = AddField("step", "i8", {}, &layout);
  places.index = AddField("index", "i8", {}, &layout);
  if (spec.has_instructions) {
    places.instruction = AddField("instruction", "i8", {}, &layout);
  }
  const auto add_rows = [&](const std::string& key, int64_t offsets,
                            EpisodeFields::Rows* rows) {
    if (rows->width == 0 || offsets == 0) return;
    rows->values = AddField(key, "f4", {offsets, rows->width}, &layout);
  };
  add_rows("action", spec.actions, &places.action);
  add_rows("state", spec.states, &places.state);
  const int64_t number_offsets = std::max<int64_t>(1, spec.actions);
  for (const auto& [key, width] : spec.numbers) {
    EpisodeFields::Rows& rows = places.numbers.emplace_back();
    rows.width = width;
    add_rows(key, number_offsets, &rows);
    if (width == 1) layout.fields.back().shape.pop_back();
  }
  const SampleShape format{0, 0, 0, spec.format};
  const int64_t height = spec.frame.height;
  const int64_t width = spec.frame.width;
  for (const std::string& camera : spec.cameras) {
    places.frames.push_back(
        AddField(camera, format.is_float() ? "f4" : "u1",
                 format.is_planes()
                     ? std::vector<int64_t>{spec.frames, 3, height, width}
                     : std::vector<int64_t>{spec.frames, height, width, 3},
                 &layout));
  }
  for (const std::string& camera : spec.cameras) {
    places.frame_is_pad.push_back(AddField(absl::StrCat(camera, "_is_pad"),
                                           "b1", {spec.frames}, &layout));
  }
  const auto add_flags = [&](const std::string& key, int64_t offsets,
                             EpisodeFields::Rows* rows) {
    if (rows->values < 0) return;
    rows->is_pad =
        AddField(absl::StrCat(key, "_is_pad"), "b1", {offsets}, &layout);
    rows->mask =
        AddField(absl::StrCat(key, "_mask"), "b1", {rows->width}, &layout);
  };
  add_flags("action", spec.actions, &places.action);
  add_flags("state", spec.states, &places.state);
  for (size_t i = 0; i < spec.numbers.size(); ++i) {
    add_flags(spec.numbers[i].first, number_offsets, &places.numbers[i]);
    if (spec.numbers[i].second == 1) layout.fields.back().shape.pop_back();
  }
  // So that the next batch in memory is aligned too.
  layout.sample_bytes = (layout.sample_bytes + 7) / 8 * 8;
  return layout;
}

}  // namespace feedrate
