#include "lib/loader/mixture/synthetic_episodes.h"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/loader/mixture/mixture_folder.h"
#include "lib/loader/mixture/synthetic_camera.h"
#include "lib/media/parallel.h"
#include "lib/media/synthetic_random.h"
#include "lib/storage/tfrecord.h"

namespace feedrate {
namespace {

constexpr char kKind[] = "synthetic:episodes";
constexpr int kMostDatasets = 1000;
// More would not fit into any memory while a shard is written.
constexpr int kMost = 1000000;

struct FrameSize {
  int height;
  int width;
};

// As cameras of robot data sets have them.
constexpr FrameSize kSizes[] = {{128, 128}, {256, 256}, {240, 320}, {180, 320},
                                {224, 224}, {256, 320}, {120, 160}, {270, 480},
                                {300, 300}, {480, 640}};

absl::Status Wrong(absl::string_view dataset, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(
      dataset, ": ", what,
      "; write for example synthetic:episodes,datasets=29,seed=1"));
}

// One NAME=VALUE of the form that DatasetId has checked.
absl::Status ReadParameter(absl::string_view dataset, absl::string_view text,
                           SyntheticEpisodesSpec* spec) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits('=', 1));
  if (parts.first == "seed") {
    if (absl::SimpleAtoi(parts.second, &spec->seed)) return absl::OkStatus();
    return Wrong(dataset, "seed must be a whole number of 64 bits");
  }
  const std::pair<const char*, int*> numbers[] = {
      {"datasets", &spec->datasets}, {"episodes", &spec->episodes},
      {"frames", &spec->frames},     {"scale", &spec->scale},
      {"shards", &spec->shards},
  };
  for (const auto& [name, value] : numbers) {
    if (parts.first != name) continue;
    const int most = value == &spec->datasets ? kMostDatasets : kMost;
    if (absl::SimpleAtoi(parts.second, value) && *value >= 1 &&
        *value <= most) {
      return absl::OkStatus();
    }
    return Wrong(
        dataset,
        absl::StrCat(name, " must be a whole number from 1 to ", most));
  }
  return Wrong(dataset, absl::StrCat("parameter \"", parts.first,
                                     "\" is unknown; there are datasets, "
                                     "episodes, frames, scale, shards, seed"));
}

int Even(int size) { return std::max(16, size / 2 * 2); }

std::string Instruction(SyntheticRandom* random) {
  constexpr const char* kVerbs[] = {"pick up",   "push",     "lift", "open",
                                    "hand over", "put away", "wipe"};
  constexpr const char* kThings[] = {"the red block", "the drawer",
                                     "a blue bowl",   "the sponge",
                                     "the left mug",  "the screwdriver"};
  constexpr const char* kPlaces[] = {"on the table", "next to the sink",
                                     "in the top drawer", "behind the box",
                                     "on the tray"};
  return absl::StrCat(kVerbs[random->Between(0, 6)], " ",
                      kThings[random->Between(0, 5)], " ",
                      kPlaces[random->Between(0, 4)]);
}

// In thousandths, so that no machine rounds them otherwise.
std::vector<float> Numbers(int count, SyntheticRandom* random) {
  std::vector<float> values(count);
  for (float& value : values) {
    value = static_cast<float>(random->Between(-1000, 1000)) / 1024.0f;
  }
  return values;
}

std::string Shard(const SyntheticDataset& dataset, int shard) {
  std::string bytes;
  // In turns, so that every shard has its share.
  for (int i = shard; i < dataset.episodes; i += dataset.shards) {
    AppendTfRecord(SyntheticEpisode(dataset, i), &bytes);
  }
  return bytes;
}

}  // namespace

bool IsSyntheticEpisodes(absl::string_view dataset) {
  return absl::ConsumePrefix(&dataset, kKind) &&
         (dataset.empty() || dataset[0] == ',');
}

absl::StatusOr<SyntheticEpisodesSpec> ParseSyntheticEpisodes(
    absl::string_view dataset) {
  ASSIGN_OR_RETURN(const std::string id, DatasetId(dataset));
  const std::vector<absl::string_view> parts = absl::StrSplit(id, ',');
  if (parts[0] != kKind) {
    return Wrong(dataset, "there are no such synthetic episodes");
  }
  SyntheticEpisodesSpec spec;
  for (size_t i = 1; i < parts.size(); ++i) {
    RETURN_IF_ERROR(ReadParameter(dataset, parts[i], &spec));
  }
  return spec;
}

SyntheticDataset SyntheticDatasetOf(const SyntheticEpisodesSpec& spec,
                                    int index) {
  SyntheticRandom seeds(spec.seed ^ 0x6a09e667f3bcc908u);
  SyntheticRandom random(seeds.Next() ^
                         (static_cast<uint64_t>(index) * 0xd1342543de82ef95u));
  SyntheticDataset dataset;
  dataset.name = absl::StrFormat("robot_%02d", index);
  // Squares of 1 to 12: a few data sets have most of the weight.
  const int root = random.Between(1, 12);
  dataset.weight = root * root;
  const FrameSize& size = kSizes[random.Between(0, std::size(kSizes) - 1)];
  dataset.height = Even(size.height * spec.scale / 100);
  dataset.width = Even(size.width * spec.scale / 100);
  dataset.quality = random.Between(75, 95);
  dataset.episodes =
      std::max(1, random.Between(spec.episodes / 2, spec.episodes * 3 / 2));
  dataset.shards = std::min(spec.shards, dataset.episodes);
  dataset.frames =
      std::max(2, random.Between(spec.frames / 3, spec.frames * 5 / 3));
  dataset.action_width = random.Between(4, 14);
  dataset.state_width = random.Between(7, 32);
  dataset.seed = random.Next();
  return dataset;
}

std::string SyntheticEpisode(const SyntheticDataset& dataset, int index) {
  SyntheticRandom random(dataset.seed +
                         static_cast<uint64_t>(index) * 0x9e3779b97f4a7c15u);
  const int frames = std::max(
      2, random.Between(dataset.frames * 3 / 4, dataset.frames * 5 / 4));
  const std::string instruction = Instruction(&random);
  const std::string id = absl::StrFormat("%s-%06d", dataset.name, index);
  SyntheticCamera camera(random.Next(), dataset.height, dataset.width,
                         dataset.quality);
  std::vector<std::string> jpegs;
  for (int i = 0; i < frames; ++i) jpegs.push_back(camera.Jpeg(i));
  ExampleBuilder builder;
  builder.AddBytes("frames", {jpegs.begin(), jpegs.end()});
  builder.AddFloats("action", Numbers(frames * dataset.action_width, &random));
  builder.AddFloats("state", Numbers(frames * dataset.state_width, &random));
  builder.AddBytes("instruction", {instruction});
  builder.AddBytes("episode_id", {id});
  return builder.Serialised();
}

absl::Status WriteSyntheticEpisodes(
    const SyntheticEpisodesSpec& spec, const std::string& folder,
    const std::function<void(int64_t, int64_t)>& progress) {
  std::vector<SyntheticDataset> datasets;
  std::vector<std::pair<int, int>> shards;  // Data set, shard.
  std::vector<DatasetEntry> entries;
  for (int i = 0; i < spec.datasets; ++i) {
    datasets.push_back(SyntheticDatasetOf(spec, i));
    RETURN_IF_ERROR(MakeFolder(JoinPath(folder, datasets[i].name)));
    entries.push_back({datasets[i].name, datasets[i].weight});
    for (int j = 0; j < datasets[i].shards; ++j) shards.emplace_back(i, j);
  }
  std::mutex mutex;
  absl::Status failure;
  int64_t done = 0;
  ParallelFor(shards.size(), 0, [&](int64_t at) {
    const SyntheticDataset& dataset = datasets[shards[at].first];
    const std::string path =
        JoinPath(JoinPath(folder, dataset.name),
                 absl::StrFormat("%05d-of-%05d.tfrecord", shards[at].second,
                                 dataset.shards));
    const absl::Status written =
        IsFile(path)
            ? absl::OkStatus()
            : WriteFileAtomically(path, Shard(dataset, shards[at].second));
    const std::lock_guard<std::mutex> lock(mutex);
    failure.Update(written);
    if (progress) progress(++done, shards.size());
  });
  RETURN_IF_ERROR(failure);
  return WriteMixtureFile(folder, entries);
}

}  // namespace feedrate
