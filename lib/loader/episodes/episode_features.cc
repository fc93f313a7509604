#include "lib/loader/episodes/episode_features.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/loader/mixture/lerobot.h"

namespace feedrate {
namespace {

// Closer than a frame of any camera, as in lerobot.
constexpr double kToleranceS = 1e-4;

// The features that are `name`, or whose last parts are.
std::vector<std::string> Matches(const std::vector<std::string>& features,
                                 const std::string& name) {
  std::vector<std::string> found;
  for (const std::string& feature : features) {
    if (feature == name) return {feature};
    if (absl::EndsWith(feature, absl::StrCat("/", name)) ||
        absl::EndsWith(feature, absl::StrCat(".", name))) {
      found.push_back(feature);
    }
  }
  return found;
}

// The one match, or none.
absl::StatusOr<std::string> Match(absl::string_view argument,
                                  const MixtureSource& source,
                                  const std::vector<std::string>& features,
                                  const std::string& name) {
  const std::vector<std::string> found = Matches(features, name);
  if (found.size() < 2) return found.empty() ? "" : found[0];
  return absl::InvalidArgumentError(
      absl::StrCat(argument, ": ", PlaceOf(source), ": \"", name, "\" may be ",
                   absl::StrJoin(found, " or "), "; use its whole name"));
}

}  // namespace

absl::Status NamedStatus(absl::string_view place, const absl::Status& status) {
  return absl::Status(status.code(),
                      absl::StrCat(place, ": ", status.message()));
}

std::string PlaceOf(const MixtureSource& source) {
  const std::string name = absl::StrCat("data set \"", source.name, "\"");
  if (source.shards.empty()) return name;
  return absl::StrCat(name, " (", FolderOf(source), ")");
}

std::string FolderOf(const MixtureSource& source) {
  if (source.shards.empty()) return "";
  const std::string folder = ParentFolder(source.shards[0]);
  return IsLerobotShard(source.shards[0]) ? ParentFolder(folder) : folder;
}

absl::StatusOr<std::vector<std::string>> ChooseCameras(
    const std::vector<EpisodeFeature>& cameras, const MixtureSource& source) {
  const std::string has =
      source.cameras.empty()
          ? "it has no camera"
          : absl::StrCat("it has ", absl::StrJoin(source.cameras, ", "));
  if (source.image.empty() && source.cameras.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        PlaceOf(source), ": has no camera, so that it cannot be read"));
  }
  const std::string main =
      source.image.empty() ? source.cameras[0] : source.image;
  std::vector<std::string> chosen;
  if (cameras.empty()) chosen = {main};
  for (const EpisodeFeature& camera : cameras) {
    const auto own = camera.feature_of.find(source.name);
    const std::string& name =
        own != camera.feature_of.end() ? own->second : camera.feature;
    if (name.empty() && !camera.feature_of.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("cameras: \"", camera.key, "\" says nothing about ",
                       PlaceOf(source), "; ", has));
    }
    if (name.empty()) {
      chosen.push_back(main);
      continue;
    }
    ASSIGN_OR_RETURN(chosen.emplace_back(),
                     Match("cameras", source, source.cameras, name));
    if (!chosen.back().empty()) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "cameras: ", PlaceOf(source), ": has no camera \"", name, "\"; ", has));
  }
  return chosen;
}

absl::StatusOr<std::vector<std::string>> ChooseNumbers(
    const std::vector<EpisodeFeature>& numbers, const MixtureSource& source) {
  std::vector<std::string> chosen;
  for (const EpisodeFeature& one : numbers) {
    const auto own = one.feature_of.find(source.name);
    const bool is_named = own != one.feature_of.end();
    const std::string& name = is_named ? own->second : one.feature;
    chosen.emplace_back();
    if (name.empty()) continue;
    ASSIGN_OR_RETURN(chosen.back(),
                     Match("numbers", source, source.numbers, name));
    if (!chosen.back().empty() || !is_named) continue;
    return absl::InvalidArgumentError(absl::StrCat("numbers: ", PlaceOf(source),
                                                   ": has no numbers \"", name,
                                                   "\"; ", NumbersOf(source)));
  }
  return chosen;
}

std::string NumbersOf(const MixtureSource& source) {
  if (source.numbers.empty()) return "it has none";
  return absl::StrCat("it has ", absl::StrJoin(source.numbers, ", "));
}

void TakeFeatures(const ExampleView& first, MixtureSource* source) {
  const auto drop = [&](std::vector<std::string>* names) {
    names->erase(std::remove_if(
                     names->begin(), names->end(),
                     [&](const std::string& name) { return !first.Has(name); }),
                 names->end());
  };
  drop(&source->action);
  drop(&source->state);
  if (!first.Has(source->instruction)) source->instruction.clear();
  if (!first.Has(source->episode_id)) source->episode_id.clear();
  std::vector<float> floats;
  std::vector<int64_t> integers;
  for (const absl::string_view name : first.names()) {
    if (name == source->episode_id) continue;
    if (first.Floats(name, &floats).ok() ||
        first.Integers(name, &integers).ok()) {
      source->numbers.emplace_back(name);
    }
  }
}

absl::StatusOr<std::vector<int64_t>> InSteps(const StepOffsets& offsets,
                                             const MixtureSource& source) {
  std::vector<int64_t> steps;
  for (const double at : offsets.at) {
    if (offsets.in_seconds && source.steps_per_s <= 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(PlaceOf(source),
                       ": does not say how many steps a "
                       "second has; give offsets in steps: whole numbers"));
    }
    const double exact = offsets.in_seconds ? at * source.steps_per_s : at;
    const double step = std::round(exact);
    if (!(std::abs(step) < 1e9)) {
      return absl::InvalidArgumentError(
          absl::StrCat("an offset of ", at, " is beyond every episode"));
    }
    if (offsets.in_seconds &&
        std::abs(exact - step) > kToleranceS * source.steps_per_s) {
      return absl::InvalidArgumentError(absl::StrCat(
          PlaceOf(source), ": has no step ", at, " s from another, at ",
          source.steps_per_s, " steps a second; use multiples of ",
          1 / source.steps_per_s));
    }
    steps.push_back(static_cast<int64_t>(step));
  }
  return steps;
}

}  // namespace feedrate
