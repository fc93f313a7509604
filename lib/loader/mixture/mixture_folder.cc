#include "lib/loader/mixture/mixture_folder.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/config/run_config.pb.h"
#include "lib/config/text_proto.h"
#include "lib/worker/loader_message.h"

namespace feedrate {
namespace {

// `a.tfrecord`, and `a.tfrecord-00000-of-00003` as TFDS writes them.
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
  return paths;
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
    ASSIGN_OR_RETURN(source.shards, ShardsOf(below));
  }
  return sources;
}

}  // namespace

absl::Status WriteMixtureFile(const std::string& folder,
                              const std::vector<DatasetEntry>& entries) {
  MixtureFile file;
  for (const DatasetEntry& entry : entries) {
    DatasetWeight* const weight = file.add_weights();
    weight->set_dataset(entry.name);
    weight->set_weight(entry.weight);
  }
  return WriteFileAtomically(JoinPath(folder, kMixtureFileName),
                             PrintTextProto(file));
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
      ASSIGN_OR_RETURN(std::vector<std::string> shards,
                       ShardsOf(JoinPath(absolute, name)));
      if (shards.empty()) continue;
      sources.push_back({name, 1, std::move(shards)});
    }
  }
  if (!sources.empty()) return sources;
  return absl::NotFoundError(absl::StrCat(
      folder,
      ": holds no data set; it needs a folder of .tfrecord files for "
      "each, and ",
      kMixtureFileName, " for their weights"));
}

}  // namespace feedrate
