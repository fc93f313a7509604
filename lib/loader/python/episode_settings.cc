#include "lib/loader/python/episode_settings.h"

#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lib/base/status_macros.h"
#include "lib/json/json.h"
#include "lib/loader/mixture/mixture_folder.h"
#include "lib/loader/source/store_copy.h"

namespace feedrate {
namespace {

// `NAME=steps -1,0`, or `seconds`; nothing behind it: none.
StepOffsets OffsetsOf(Settings* settings, const std::string& name) {
  StepOffsets offsets;
  offsets.in_seconds =
      settings->Word<int>(name + "_unit", {"steps", "seconds"}) != 0;
  offsets.at = settings->Numbers(name, /*may_be_none=*/true);
  return offsets;
}

// `KEY`, which is the feature, `KEY tab` for the main camera, `KEY tab
// FEATURE`, or `KEY tab DATASET tab FEATURE` once or several times.
std::vector<EpisodeFeature> FeaturesOf(const std::vector<std::string>& lines) {
  std::vector<EpisodeFeature> features;
  for (const std::string& line : lines) {
    const std::vector<std::string> parts = absl::StrSplit(line, '\t');
    if (features.empty() || features.back().key != parts[0] ||
        parts.size() != 3) {
      features.push_back({parts[0], "", {}});
    }
    EpisodeFeature& feature = features.back();
    if (parts.size() == 3) {
      feature.feature_of[parts[1]] = parts[2];
    } else {
      feature.feature = parts.size() == 2 ? parts[1] : parts[0];
    }
  }
  return features;
}

struct Sources {
  std::vector<MixtureSource> sources;
  bool has_weights = false;
};

// The data at a path, or a local copy of what is at an address.
absl::StatusOr<EpisodeData> DataAt(std::string path, StoreSpec store) {
  if (absl::StrContains(path, "://")) {
    store.url = path;
    ASSIGN_OR_RETURN(path, CopyOfStore(store));
  }
  return ReadEpisodeData(path);
}

absl::StatusOr<Sources> SourcesOf(const std::vector<std::string>& lines,
                                  const StoreSpec& store) {
  Sources all;
  for (const std::string& line : lines) {
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(line, absl::MaxSplits('\t', 1));
    double weight = 1;
    const bool has_weight = absl::SimpleAtod(parts.first, &weight);
    ASSIGN_OR_RETURN(EpisodeData data, DataAt(parts.second, store));
    if (lines.size() > 1 && data.sources.size() > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat(parts.second, ": has ", data.sources.size(),
                       " data sets; name each of them, or this folder alone"));
    }
    all.has_weights |= has_weight || data.has_weights;
    for (MixtureSource& source : data.sources) {
      if (has_weight) source.weight = weight;
      all.sources.push_back(std::move(source));
    }
  }
  std::set<std::string> names;
  for (size_t i = 0; i < all.sources.size(); ++i) {
    std::string& name = all.sources[i].name;
    // Folders of the same name at several places.
    while (!names.insert(name).second) absl::StrAppend(&name, "#", i);
  }
  return all;
}

// What is done to frames that differs from sample to sample.
absl::Status AddRecipe(Settings* settings, EpisodeSetOptions* set) {
  LoaderOptions options;
  Recipe& recipe = options.recipe;
  recipe.crop = set->frame.height;
  recipe.crop_width = set->frame.width;
  recipe.position =
      settings->Word<CropPosition>("crop_position", {"random", "center"});
  recipe.format = set->format;
  recipe.mean = set->mean;
  recipe.std = set->std;
  RETURN_IF_ERROR(AddSteps(settings, /*on_gpu=*/false, &options));
  if (options.mix.kind != MixKind::kNone) {
    return absl::InvalidArgumentError(
        "transforms: frames of different samples are not mixed; leave Mixup "
        "and CutMix out");
  }
  if (!recipe.steps.empty() || recipe.position == CropPosition::kRandom) {
    set->recipe = std::move(recipe);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<EpisodeSet>> OpenEpisodes(
    Settings* settings, const LoaderOptions& options) {
  EpisodeSetOptions set;
  set.cameras = FeaturesOf(settings->All("camera"));
  set.numbers = FeaturesOf(settings->All("number"));
  set.frames = OffsetsOf(settings, "frames");
  set.actions = OffsetsOf(settings, "actions");
  set.states = OffsetsOf(settings, "states");
  set.needs_actions = settings->Integer("needs_actions") != 0;
  set.needs_states = settings->Integer("needs_states") != 0;
  set.resize.height = settings->Count("resize");
  set.resize.width = settings->Count("resize_width");
  set.resize.filter = settings->Word<ResampleFilter>(
      "interpolation", {"box", "bilinear", "hamming", "bicubic", "lanczos"});
  set.frame.height = settings->Count("crop");
  set.frame.width = settings->Count("crop_width");
  set.format = settings->Word<SampleFormat>(
      "format", {"float32 first", "float32 last", "uint8 first", "uint8 last"});
  set.mean = settings->Numbers("mean");
  set.std = settings->Numbers("std");
  RETURN_IF_ERROR(AddRecipe(settings, &set));
  set.balance = settings->Integer("balance") != 0;
  const int order = settings->Word<int>("order", {"auto", "epochs", "weights"});
  set.batch_size = options.batch_size;
  set.shuffle = options.shuffle;
  set.seed = options.seed;
  set.fail = options.on_error == OnError::kFail;
  StoreSpec store;
  store.cache_folder = settings->Text("cache_folder");
  store.options.endpoint = settings->Text("endpoint");
  store.options.redirect_hosts = settings->Text("redirect_hosts");
  store.options.anonymous = settings->Integer("anonymous") != 0;
  store.options.connections = settings->Count("connections");
  RETURN_IF_ERROR(settings->status());
  ASSIGN_OR_RETURN(Sources found, SourcesOf(settings->All("dataset"), store));
  set.by_weight = order == 0 ? found.has_weights || set.balance : order == 2;
  return EpisodeSet::Open(std::move(found.sources), set);
}

namespace {

Json FieldsOf(const EpisodeLayout& layout) {
  Json fields = Json::array();
  for (const BatchField& field : layout.fields) {
    fields.push_back({{"key", field.key},
                      {"type", field.type},
                      {"shape", field.shape},
                      {"offset", field.offset}});
  }
  return fields;
}

}  // namespace

std::string DescribeEpisodes(const EpisodeSet& set,
                             const LoaderOptions& options) {
  Json datasets = Json::array();
  for (const EpisodeSet::Dataset& dataset : set.datasets()) {
    const MixtureSource& source = dataset.source;
    Json widths = Json::object();
    Json features = {{"action", source.action}, {"state", source.state}};
    for (size_t i = 0; i < dataset.number_widths.size(); ++i) {
      const std::string& key = set.options().numbers[i].key;
      widths[key] = dataset.number_widths[i];
      if (widths[key] > 0) features[key] = {dataset.numbers[i]};
    }
    for (size_t i = 0; i < set.options().cameras.size(); ++i) {
      features[set.options().cameras[i].key] = {dataset.cameras[i]};
    }
    datasets.push_back({{"name", dataset.source.name},
                        {"weight", dataset.weight},
                        {"episodes", dataset.episodes},
                        {"steps", dataset.steps},
                        {"steps_per_s", dataset.source.steps_per_s},
                        {"cameras", dataset.source.cameras},
                        {"numbers", dataset.source.numbers},
                        {"number_widths", std::move(widths)},
                        {"features", std::move(features)},
                        {"folder", FolderOf(source)},
                        {"action_width", dataset.action_width},
                        {"state_width", dataset.state_width}});
  }
  const EpisodeSet::Memory memory = set.memory();
  const int64_t threads = options.workers > 0 ? options.workers : 1;
  const Json about = {
      {"datasets", std::move(datasets)},
      {"fields", FieldsOf(set.layout())},
      {"step_fields", FieldsOf(set.step_layout())},
      {"step_bytes", set.step_layout().sample_bytes},
      {"endless", set.options().by_weight},
      {"memory",
       {{"index", memory.index},
        {"episodes", memory.episodes},
        {"batches", BytesOfBatches(set.sample_bytes(), options)},
        // For batches, and for whole episodes.
        {"decoders", 2 * threads * memory.decoder}}}};
  return about.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace feedrate
