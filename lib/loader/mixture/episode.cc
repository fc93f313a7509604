#include "lib/loader/mixture/episode.h"

#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/adapters/worker/params.h"
#include "lib/base/status_macros.h"
#include "lib/loader/mixture/episode_order.h"
#include "lib/loader/mixture/mapped_shard.h"
#include "lib/storage/checksum.h"
#include "lib/storage/tfrecord.h"

namespace feedrate {
namespace {

absl::StatusOr<absl::string_view> OneText(const ExampleView& example,
                                          absl::string_view feature) {
  std::vector<absl::string_view> values;
  RETURN_IF_ERROR(example.Bytes(feature, &values));
  if (values.size() == 1) return values[0];
  return absl::InvalidArgumentError(absl::StrCat(
      "feature \"", feature, "\" has ", values.size(), " values, not one"));
}

// A row of numbers for each of `steps`; their width.
absl::StatusOr<int> Rows(const ExampleView& example, absl::string_view feature,
                         size_t steps, std::vector<float>* values) {
  RETURN_IF_ERROR(example.Floats(feature, values));
  if (values->size() % steps == 0) {
    return static_cast<int>(values->size() / steps);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("feature \"", feature, "\" has ", values->size(),
                   " numbers, which ", steps, " steps cannot share"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Episode>> Episode::Open(
    const EpisodePlace& place, const EpisodeOptions& options, uint64_t seed) {
  auto episode = absl::WrapUnique(new Episode(place));
  RETURN_IF_ERROR(episode->Read(options));
  RETURN_IF_ERROR(episode->DrawPairs(options, seed));
  return episode;
}

std::string Episode::name() const {
  return absl::StrCat(place_.shard->path(), ": record ", place_.record);
}

absl::Status Episode::Named(const absl::Status& status) const {
  return absl::Status(status.code(),
                      absl::StrCat(name(), ": ", status.message()));
}

absl::StatusOr<absl::string_view> Episode::ReadRecord() {
  ASSIGN_OR_RETURN(bytes_, place_.shard->Map(place_.offset, place_.bytes));
  // The head was checked when the record was found.
  const absl::string_view data = bytes_.bytes().substr(
      kTfRecordHeadBytes,
      place_.bytes - kTfRecordHeadBytes - kTfRecordTailBytes);
  if (LittleEndian32(data.data() + data.size()) == MaskedCrc32c(data)) {
    return data;
  }
  return absl::DataLossError(absl::StrCat(name(), " at byte ", place_.offset,
                                          ": wrong checksum of its data"));
}

absl::Status Episode::Read(const EpisodeOptions& options) {
  ASSIGN_OR_RETURN(const absl::string_view data, ReadRecord());
  ExampleView example;
  absl::Status read = example.Parse(data);
  if (read.ok()) read = example.Bytes("frames", &frames_);
  if (read.ok() && frames_.empty()) {
    read = absl::OutOfRangeError("feature \"frames\" is empty");
  }
  if (read.ok() && options.metadata == MetadataMode::kFull) {
    read = ReadMetadata(example);
  }
  return read.ok() ? read : Named(read);
}

absl::Status Episode::ReadMetadata(const ExampleView& example) {
  ASSIGN_OR_RETURN(id_, OneText(example, "episode_id"));
  ASSIGN_OR_RETURN(instruction_, OneText(example, "instruction"));
  ASSIGN_OR_RETURN(action_width_,
                   Rows(example, "action", frames_.size(), &action_));
  ASSIGN_OR_RETURN(state_width_,
                   Rows(example, "state", frames_.size(), &state_));
  return absl::OkStatus();
}

absl::Status Episode::DrawPairs(const EpisodeOptions& options, uint64_t seed) {
  const auto frames = static_cast<int64_t>(frames_.size());
  const int64_t possible = frames - options.pair_offset;
  if (possible < 1 || possible < options.samples) {
    return Named(absl::OutOfRangeError(absl::StrCat(
        frames, " frames have ", possible < 0 ? 0 : possible,
        " pairs at an offset of ", options.pair_offset, ", fewer than the ",
        options.samples > 0 ? options.samples : 1,
        " that are to be drawn; lower samples_per_episode or pair_offset")));
  }
  pairs_.resize(possible);
  std::iota(pairs_.begin(), pairs_.end(), 0);
  if (options.samples == 0) return absl::OkStatus();
  // The beginning of a shuffle: no pair twice.
  Random random(seed);
  for (int i = 0; i < options.samples; ++i) {
    std::swap(pairs_[i], pairs_[i + random.Below(possible - i)]);
  }
  pairs_.resize(options.samples);
  return absl::OkStatus();
}

}  // namespace feedrate
