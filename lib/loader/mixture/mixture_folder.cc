#include "lib/loader/mixture/mixture_folder.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/config/run_config.pb.h"
#include "lib/config/text_proto.h"
#include "lib/loader/mixture/lerobot.h"
#include "lib/media/image_file.h"
#include "lib/media/parallel.h"
#include "lib/media/synthetic.h"
#include "lib/media/synthetic_random.h"
#include "lib/storage/tfrecord.h"

namespace feedrate {
namespace {

// A word, a number, a text (without its quotes) or a sign.
struct Token {
  absl::string_view text;
  bool is_text = false;
  int line = 1;
};

bool IsWordPart(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' ||
         c == '.' || c == '-' || c == '+';
}

absl::StatusOr<std::vector<Token>> Tokens(absl::string_view text) {
  std::vector<Token> tokens;
  int line = 1;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    size_t end = at + 1;
    if (c == '\n') ++line;
    if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    if (c == '"' || c == '\'') {
      end =
          text.find_first_of(absl::string_view(c == '"' ? "\"\n" : "'\n"), end);
      if (end == absl::string_view::npos || text[end] == '\n') {
        return absl::InvalidArgumentError(
            absl::StrCat("line ", line, ": a text has no end"));
      }
      tokens.push_back({text.substr(at + 1, end - at - 1), true, line});
      ++end;
    } else if (!absl::ascii_isspace(static_cast<unsigned char>(c))) {
      while (IsWordPart(c) && end < text.size() && IsWordPart(text[end])) ++end;
      tokens.push_back({text.substr(at, end - at), false, line});
    }
    at = end;
  }
  return tokens;
}

bool Is(const Token& token, absl::string_view signs) {
  return !token.is_text && token.text.size() == 1 &&
         signs.find(token.text[0]) != absl::string_view::npos;
}

// Position after the `[` of the list; 0 if there is none.
size_t ListBegin(const std::vector<Token>& tokens, absl::string_view name) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (!Is(tokens[i], "[")) continue;
    if (name.empty()) return i + 1;
    if (i >= 2 && Is(tokens[i - 1], "=:") && tokens[i - 2].text == name) {
      return i + 1;
    }
  }
  return 0;
}

absl::Status Wrong(const Token& token, absl::string_view wanted) {
  return absl::InvalidArgumentError(absl::StrCat(
      "line ", token.line, ": \"", PrintableText(token.text), "\" is not ",
      wanted, "; write [(\"NAME\", WEIGHT), (\"NAME\", WEIGHT)]"));
}

// The names that people give replace those of features.json.
void UseNames(const EpisodeFeatures& names, MixtureSource* source) {
  if (names.has_image()) {
    source->image = names.image();
    if (std::find(source->cameras.begin(), source->cameras.end(),
                  source->image) == source->cameras.end()) {
      source->cameras.push_back(source->image);
    }
  }
  if (names.has_instruction()) source->instruction = names.instruction();
  if (names.has_episode_id()) source->episode_id = names.episode_id();
  if (names.action_size() > 0) {
    source->action = {names.action().begin(), names.action().end()};
  }
  if (names.state_size() > 0) {
    source->state = {names.state().begin(), names.state().end()};
  }
}

std::vector<std::string> SubFolders(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.is_directory(error)) {
      names.push_back(entry.path().filename().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

absl::StatusOr<std::vector<MixtureSource>> FromFile(const std::string& folder,
                                                    const std::string& path) {
  MixtureFile file;
  RETURN_IF_ERROR(ReadTextProto(path, &file));
  std::vector<MixtureSource> sources;
  for (const DatasetWeight& entry : file.weights()) {
    if (entry.dataset().empty() || !entry.has_weight()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": entry ", sources.size(),
                       " lacks its dataset or its weight"));
    }
    MixtureSource& source = sources.emplace_back();
    source.name = entry.dataset();
    source.weight = entry.weight();
    const std::string below = JoinPath(folder, entry.dataset());
    if (!IsFolder(below)) {
      return absl::NotFoundError(
          absl::StrCat(path, ": data set \"", entry.dataset(),
                       "\": there is no folder ", below,
                       "; bring it there, or take the data set out of the "
                       "file"));
    }
    RETURN_IF_ERROR(ReadDatasetFolder(
        below, entry.has_split() ? entry.split() : kTrainSplit, &source));
    UseNames(entry.features(), &source);
  }
  return sources;
}

}  // namespace

absl::StatusOr<std::vector<DatasetEntry>> ParseMixtureList(
    absl::string_view text, absl::string_view name) {
  ASSIGN_OR_RETURN(const std::vector<Token> tokens, Tokens(text));
  size_t at = ListBegin(tokens, name);
  if (at == 0) {
    return absl::InvalidArgumentError(
        name.empty() ? "has no list of pairs; write [(\"NAME\", WEIGHT)]"
                     : absl::StrCat("has no list \"", name, "\""));
  }
  std::vector<DatasetEntry> entries;
  std::set<std::string> seen;
  while (at < tokens.size() && !Is(tokens[at], "]")) {
    if (!Is(tokens[at], "([")) return Wrong(tokens[at], "the start of a pair");
    if (tokens.size() - at < 5) return Wrong(tokens[at], "a whole pair");
    const Token& dataset = tokens[at + 1];
    if (!dataset.is_text || dataset.text.empty()) {
      return Wrong(dataset, "a name in quotes");
    }
    if (!Is(tokens[at + 2], ",")) return Wrong(tokens[at + 2], "a comma");
    double weight = 0;
    if (tokens[at + 3].is_text ||
        !absl::SimpleAtod(tokens[at + 3].text, &weight) ||
        !std::isfinite(weight) || weight < 0) {
      return Wrong(tokens[at + 3], "a weight");
    }
    if (!Is(tokens[at + 4], ")]")) return Wrong(tokens[at + 4], "a bracket");
    if (!seen.insert(std::string(dataset.text)).second) {
      return Wrong(dataset, "new: it is listed twice");
    }
    entries.push_back({std::string(dataset.text), weight});
    at += 5;
    if (at < tokens.size() && Is(tokens[at], ",")) ++at;
  }
  if (at == tokens.size()) {
    return absl::InvalidArgumentError("its list has no end; close it with ]");
  }
  if (!entries.empty()) return entries;
  return absl::InvalidArgumentError("its list is empty");
}

std::string MixtureFileText(const std::vector<DatasetEntry>& entries) {
  MixtureFile file;
  for (const DatasetEntry& entry : entries) {
    DatasetWeight* const weight = file.add_weights();
    weight->set_dataset(entry.name);
    weight->set_weight(entry.weight);
  }
  return PrintTextProto(file);
}

absl::Status WriteMixtureFile(const std::string& folder,
                              const std::vector<DatasetEntry>& entries) {
  return WriteFileAtomically(JoinPath(folder, kMixtureFileName),
                             MixtureFileText(entries));
}

absl::StatusOr<std::vector<std::string>> MixtureFiles(
    const MixtureSource& source) {
  std::vector<std::string> files;
  for (const std::string& shard : source.shards) {
    if (!IsLerobotShard(shard)) {
      files.push_back(shard);
      continue;
    }
    ASSIGN_OR_RETURN(const std::vector<std::string> found,
                     ListFiles(ParentFolder(ParentFolder(shard)), "",
                               /*recursive=*/true));
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

absl::StatusOr<std::vector<MixtureSource>> ReadMixtureFolder(
    const std::string& folder) {
  if (!IsFolder(folder)) {
    return absl::NotFoundError(
        absl::StrCat(folder, ": there is no such folder"));
  }
  std::error_code error;
  const std::string absolute =
      std::filesystem::absolute(folder, error).lexically_normal().string();
  std::vector<MixtureSource> sources;
  const std::string path = JoinPath(absolute, kMixtureFileName);
  if (IsFile(path)) {
    ASSIGN_OR_RETURN(sources, FromFile(absolute, path));
  } else {
    for (const std::string& name : SubFolders(absolute)) {
      MixtureSource source;
      source.name = name;
      RETURN_IF_ERROR(
          ReadDatasetFolder(JoinPath(absolute, name), kTrainSplit, &source));
      if (!source.shards.empty()) sources.push_back(std::move(source));
    }
  }
  if (!sources.empty()) return sources;
  return absl::NotFoundError(absl::StrCat(
      folder,
      ": holds no data set; it needs a folder of .tfrecord files for "
      "each, and ",
      kMixtureFileName, " for their weights"));
}

absl::StatusOr<EpisodeData> ReadEpisodeData(const std::string& path) {
  EpisodeData data;
  if (IsFile(path)) {
    std::error_code error;
    const std::string absolute =
        std::filesystem::absolute(path, error).lexically_normal().string();
    ASSIGN_OR_RETURN(data.sources, FromFile(ParentFolder(absolute), path));
    data.has_weights = true;
    return data;
  }
  if (!IsFolder(path)) {
    return absl::NotFoundError(absl::StrCat(
        path,
        ": there is no such folder; name that of a data set, of several, "
        "or a mixture.textproto"));
  }
  if (!IsDatasetFolder(path)) {
    data.has_weights = IsFile(JoinPath(path, kMixtureFileName));
    absl::StatusOr<std::vector<MixtureSource>> found = ReadMixtureFolder(path);
    if (!found.ok() && !data.has_weights && absl::IsNotFound(found.status())) {
      return absl::NotFoundError(absl::StrCat(
          path, ": is not a data set; it has neither ", kLerobotInfo,
          " of LeRobot nor a .tfrecord file of RLDS, and no folder below it "
          "does"));
    }
    RETURN_IF_ERROR(found.status());
    data.sources = *std::move(found);
    return data;
  }
  MixtureSource& source = data.sources.emplace_back();
  source.name = DatasetNameOf(path);
  RETURN_IF_ERROR(ReadDatasetFolder(path, kTrainSplit, &source));
  return data;
}

namespace {

// Mirrors at the edge, so that there is a picture wherever the camera looks.
int Mirrored(int at, int size) {
  const int period = 2 * size;
  const int inside = ((at % period) + period) % period;
  return inside < size ? inside : period - 1 - inside;
}

uint8_t ToByte(int value) {
  return static_cast<uint8_t>(std::clamp(value, 0, 255));
}

}  // namespace

SyntheticCamera::SyntheticCamera(uint64_t seed, int height, int width,
                                 int quality)
    : picture_(SyntheticPixels(seed, 0)),
      height_(height),
      width_(width),
      quality_(quality),
      grain_key_(static_cast<uint32_t>(seed * 0x9e3779b1u + 17)) {
  SyntheticRandom random(seed ^ 0x51ed270b4d2a1f3cu);
  start_x_ = random.Between(0, picture_.width() - 1);
  start_y_ = random.Between(0, picture_.height() - 1);
  speed_x_ = random.Between(-3, 3);
  speed_y_ = random.Between(-1, 1);
}

Image SyntheticCamera::Frame(int number) const {
  Image frame(height_, width_, 3);
  const int side = height_ / 4;
  const int left = Mirrored(number * 4, width_);
  const int top = height_ / 3;
  const ImageView picture = picture_.view();
  for (int y = 0; y < height_; ++y) {
    uint8_t* const row = frame.row(y);
    for (int x = 0; x < width_; ++x) {
      const bool thing =
          x >= left && x < left + side && y >= top && y < top + side;
      const int from_x =
          thing ? 2 * (x - left) : start_x_ + x + number * speed_x_;
      const int from_y =
          thing ? 2 * (y - top) : start_y_ + y + number * speed_y_;
      const uint8_t* const from =
          picture.row(Mirrored(from_y, picture.height)) +
          3 * Mirrored(from_x, picture.width);
      const auto place =
          static_cast<uint32_t>((number * height_ + y) * width_ + x);
      const int grain = static_cast<int>(PixelHash(grain_key_, place) % 5) - 2;
      for (int c = 0; c < 3; ++c) row[3 * x + c] = ToByte(from[c] + grain);
    }
  }
  return frame;
}

std::string SyntheticCamera::Jpeg(int number) const {
  JpegOptions options;
  options.quality = quality_;
  // Cannot fail with three channels and moderate sizes.
  return EncodeJpeg(Frame(number).view(), options).value();
}

namespace {

constexpr char kKind[] = "synthetic:episodes";
constexpr int kMostDatasets = 1000;
// More would not fit into memory while a shard is written.
constexpr int kMost = 1000000;

struct FrameSize {
  int height;
  int width;
};

// Typical camera sizes of robot data sets.
constexpr FrameSize kSizes[] = {{128, 128}, {256, 256}, {240, 320}, {180, 320},
                                {224, 224}, {256, 320}, {120, 160}, {270, 480},
                                {300, 300}, {480, 640}};

absl::Status Wrong(absl::string_view dataset, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(
      dataset, ": ", what,
      "; write for example synthetic:episodes,datasets=29,seed=1"));
}

// Reads one NAME=VALUE, whose form DatasetId has checked.
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
  // One after the other: compilers evaluate arguments in different orders.
  const char* const verb = kVerbs[random->Between(0, 6)];
  const char* const thing = kThings[random->Between(0, 5)];
  const char* const place = kPlaces[random->Between(0, 4)];
  return absl::StrCat(verb, " ", thing, " ", place);
}

// In thousandths, so that all machines round the same.
std::vector<float> Numbers(int count, SyntheticRandom* random) {
  std::vector<float> values(count);
  for (float& value : values) {
    value = static_cast<float>(random->Between(-1000, 1000)) / 1024.0f;
  }
  return values;
}

std::string Shard(const SyntheticDataset& dataset, int shard) {
  std::string bytes;
  // Distributed in turn, so that every shard gets its share.
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
  return builder.Serialized();
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
