// Which features of a data set the parts of a sample are, by the names that a
// caller gives.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/loader/mixture/mixture_spec.h"
#include "lib/storage/tfrecord.h"

namespace feedrate {

// Where a sample takes frames or rows from, seen from its step. What lies
// beyond an end of the episode is the step at that end, and is marked.
struct StepOffsets {
  std::vector<double> at = {0};
  // Otherwise in steps.
  bool in_seconds = false;
};

// A camera, or numbers: what batches call it, and its feature, or the last
// parts of that. A data set may have another one.
struct EpisodeFeature {
  std::string key;
  // Empty: the main camera of each data set.
  std::string feature;
  std::map<std::string, std::string> feature_of;  // By data set.
};

absl::Status NamedStatus(absl::string_view place, const absl::Status& status);
// The data set and its folder, for messages.
std::string PlaceOf(const MixtureSource& source);
// Where its shards are, or its meta/. Empty without shards.
std::string FolderOf(const MixtureSource& source);

// The feature of each camera. Without cameras, the one whose frames count the
// steps.
absl::StatusOr<std::vector<std::string>> ChooseCameras(
    const std::vector<EpisodeFeature>& cameras, const MixtureSource& source);
// The feature of each of `numbers`; empty for what the data set does not have.
// InvalidArgument if it is named for this data set.
absl::StatusOr<std::vector<std::string>> ChooseNumbers(
    const std::vector<EpisodeFeature>& numbers, const MixtureSource& source);
// What messages say of a data set's numbers.
std::string NumbersOf(const MixtureSource& source);

// Nothing beside feedrate's own episodes says what they have: what the first
// one lacks is left out of the whole data set, and its features with numbers
// are those of the data set.
void TakeFeatures(const ExampleView& first, MixtureSource* source);

// InvalidArgument if the data set has no step there.
absl::StatusOr<std::vector<int64_t>> InSteps(const StepOffsets& offsets,
                                             const MixtureSource& source);

}  // namespace feedrate
