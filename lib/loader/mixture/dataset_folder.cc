#include "lib/loader/mixture/dataset_folder.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/loader/mixture/lerobot.h"
#include "lib/loader/mixture/tensor_bytes.h"
#include "simdjson.h"

namespace feedrate {
namespace {

using ::simdjson::dom::object;

constexpr char kFeaturesFile[] = "features.json";

// Features of a data set as tensorflow-datasets flattens them: names with `/`.
struct TfdsFeatures {
  std::vector<std::string> images;
  std::vector<std::string> floats;
  std::vector<std::string> integers;
  std::vector<std::string> flags;
  std::vector<std::string> texts;
  std::map<std::string, TensorEncoding> encoded;
};

// Numbers per step, from its `shape`; 0 if that is not fixed.
int64_t ValuesOf(const object& tensor) {
  // More than any row of numbers, so that nothing claims all memory.
  constexpr int64_t kMost = int64_t{1} << 20;
  simdjson::dom::array sides;
  if (tensor["shape"]["dimensions"].get(sides) != simdjson::SUCCESS) return 1;
  int64_t values = 1;
  for (const auto side : sides) {
    int64_t size = 0;
    std::string_view text;
    if (side.get(text) == simdjson::SUCCESS) {
      if (!absl::SimpleAtoi(std::string(text), &size)) return 0;
    } else if (side.get(size) != simdjson::SUCCESS) {
      return 0;
    }
    if (size < 1 || size > kMost / values) return 0;
    values *= size;
  }
  return values;
}

void AddTfdsFeatures(const object& feature, const std::string& name,
                     TfdsFeatures* found) {
  object inner;
  if (feature["featuresDict"]["features"].get(inner) == simdjson::SUCCESS) {
    for (const auto field : inner) {
      object next;
      if (field.value.get(next) != simdjson::SUCCESS) continue;
      AddTfdsFeatures(
          next,
          absl::StrCat(name, name.empty() ? "" : "/", std::string(field.key)),
          found);
    }
    return;
  }
  if (feature["sequence"]["feature"].get(inner) == simdjson::SUCCESS) {
    return AddTfdsFeatures(inner, name, found);
  }
  if (feature["image"].error() == simdjson::SUCCESS) {
    found->images.push_back(name);
  }
  std::string_view dtype;
  const bool has_type =
      feature["tensor"]["dtype"].get(dtype) == simdjson::SUCCESS;
  if (feature["text"].error() == simdjson::SUCCESS ||
      (has_type && (dtype == "string" || dtype == "object"))) {
    found->texts.push_back(name);
  }
  if (!has_type) return;
  std::string_view encoding;
  object tensor;
  if (feature["tensor"].get(tensor) == simdjson::SUCCESS &&
      tensor["encoding"].get(encoding) == simdjson::SUCCESS &&
      encoding != "none") {
    TensorEncoding how;
    how.dtype = std::string(dtype);
    how.values = ValuesOf(tensor);
    how.is_zlib = encoding == "zlib";
    if ((encoding != "zlib" && encoding != "bytes") || how.values == 0 ||
        TensorValueBytes(how.dtype) == 0) {
      return;
    }
    found->encoded[name] = how;
  }
  if (absl::StartsWith(std::string(dtype), "float")) {
    found->floats.push_back(name);
  } else if (absl::StrContains(std::string(dtype), "int")) {
    found->integers.push_back(name);
  } else if (dtype == "bool") {
    found->flags.push_back(name);
  }
}

bool Has(const std::vector<std::string>& names, absl::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string FirstOf(const std::vector<std::string>& names,
                    std::initializer_list<const char*> wanted) {
  for (const char* const name : wanted) {
    if (Has(names, name)) return name;
  }
  return "";
}

absl::Status ReadTfdsFeatures(const std::string& path, MixtureSource* source) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  simdjson::dom::parser parser;
  object root;
  if (parser.parse(text).get(root) != simdjson::SUCCESS) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": is not a JSON object; copy it again"));
  }
  TfdsFeatures found;
  AddTfdsFeatures(root, "", &found);
  source->image = FirstOf(found.images, {"steps/observation/image"});
  for (const std::string& name : found.images) {
    if (source->image.empty() && absl::StartsWith(name, "steps/")) {
      source->image = name;
    }
  }
  source->cameras.clear();
  for (const std::string& name : found.images) {
    if (absl::StartsWith(name, "steps/")) source->cameras.push_back(name);
  }
  source->numbers.clear();
  for (const auto* const names :
       {&found.floats, &found.integers, &found.flags}) {
    for (const std::string& name : *names) {
      if (absl::StartsWith(name, "steps/")) source->numbers.push_back(name);
    }
  }
  source->encoded = std::move(found.encoded);
  source->action.clear();
  source->state.clear();
  // Integers beside floats are flags, such as the end of an episode.
  for (const auto* const numbers : {&found.floats, &found.integers}) {
    const std::string state = FirstOf(
        *numbers, {"steps/observation/state", "steps/observation/proprio"});
    if (source->state.empty() && !state.empty()) source->state = {state};
    if (!source->action.empty()) continue;
    for (const std::string& name : *numbers) {
      if (name == "steps/action" || absl::StartsWith(name, "steps/action/")) {
        source->action.push_back(name);
      }
    }
  }
  source->instruction =
      FirstOf(found.texts, {"steps/language_instruction",
                            "steps/observation/natural_language_instruction",
                            "language_instruction"});
  constexpr char kEpisodeId[] = "episode_metadata/episode_id";
  source->episode_id =
      Has(found.integers, kEpisodeId)
          ? kEpisodeId
          : FirstOf(found.texts, {kEpisodeId, "episode_metadata/file_path"});
  return absl::OkStatus();
}

// Compares versions such as 0.1.0 and 0.10.0.
bool IsOlder(const std::string& a, const std::string& b) {
  const auto numbers = [](const std::string& path) {
    std::vector<int64_t> parts;
    const std::string version = BaseName(ParentFolder(path));
    for (const absl::string_view part : absl::StrSplit(version, '.')) {
      int64_t number = -1;
      if (!absl::SimpleAtoi(part, &number)) number = -1;
      parts.push_back(number);
    }
    return parts;
  };
  return numbers(a) < numbers(b);
}

bool IsVersion(const std::string& name) {
  const std::vector<std::string> parts = absl::StrSplit(name, '.');
  return parts.size() == 3 &&
         std::all_of(parts.begin(), parts.end(), [](const std::string& part) {
           int64_t number = 0;
           return absl::SimpleAtoi(part, &number) && number >= 0;
         });
}

// Accepts `a.tfrecord`, and `a.tfrecord-00000-of-00003` as TFDS names them.
bool IsShard(const std::string& path) {
  return absl::StrContains(BaseName(path), ".tfrecord");
}

absl::StatusOr<std::vector<std::string>> ShardsOf(const std::string& folder) {
  ASSIGN_OR_RETURN(std::vector<std::string> paths,
                   ListFiles(folder, "", /*recursive=*/true));
  paths.erase(
      std::remove_if(paths.begin(), paths.end(),
                     [](const std::string& path) { return !IsShard(path); }),
      paths.end());
  for (const std::string& path : paths) {
    RETURN_IF_ERROR(PlainFileBytes(path).status());
  }
  return paths;
}

}  // namespace

absl::Status ReadDatasetFolder(const std::string& folder,
                               const std::string& split,
                               MixtureSource* source) {
  const std::string lerobot = JoinPath(folder, kLerobotInfo);
  if (IsFile(lerobot)) return ReadLerobotFeatures(lerobot, source);
  ASSIGN_OR_RETURN(source->shards, ShardsOf(folder));
  ASSIGN_OR_RETURN(std::vector<std::string> found,
                   ListFiles(folder, "", /*recursive=*/true));
  found.erase(std::remove_if(found.begin(), found.end(),
                             [](const std::string& path) {
                               return BaseName(path) != kFeaturesFile;
                             }),
              found.end());
  if (found.empty()) return absl::OkStatus();
  const std::string newest =
      *std::max_element(found.begin(), found.end(), IsOlder);
  const std::string version = ParentFolder(newest);
  for (const std::string& other : found) {
    if (ParentFolder(ParentFolder(other)) == ParentFolder(version)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        folder, ": has several configs, ", ParentFolder(ParentFolder(other)),
        " and ", ParentFolder(version), "; name one in ", kMixtureFileName,
        ", such as dataset: \"NAME/CONFIG\""));
  }
  const std::string wanted = absl::StrCat("-", split, ".tfrecord");
  std::vector<std::string> shards;
  for (const std::string& path : source->shards) {
    if (ParentFolder(path) == version &&
        absl::StrContains(BaseName(path), wanted)) {
      shards.push_back(path);
    }
  }
  if (shards.empty()) {
    return absl::NotFoundError(
        absl::StrCat(version, ": has no shard of the split \"", split,
                     "\"; name another one in ", kMixtureFileName,
                     ", such as split: \"test\""));
  }
  source->shards = std::move(shards);
  return ReadTfdsFeatures(newest, source);
}

bool IsDatasetFolder(const std::string& folder) {
  if (IsFile(JoinPath(folder, kLerobotInfo)) ||
      IsFile(JoinPath(folder, kFeaturesFile))) {
    return true;
  }
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string path = entry.path().string();
    if (entry.is_directory(error)
            ? IsVersion(BaseName(path)) && IsFile(JoinPath(path, kFeaturesFile))
            : IsShard(path)) {
      return true;
    }
  }
  return false;
}

std::string DatasetNameOf(const std::string& folder) {
  std::error_code error;
  std::string path =
      std::filesystem::absolute(folder, error).lexically_normal().string();
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  const std::string name = BaseName(path);
  return IsVersion(name) ? BaseName(ParentFolder(path)) : name;
}

}  // namespace feedrate
