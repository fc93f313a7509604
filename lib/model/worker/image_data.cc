#include "lib/model/worker/image_data.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/loader/source/remote_source.h"
#include "lib/loader/source/source_file.h"
#include "lib/storage/remote/dialect.h"

namespace feedrate {
namespace {

std::string FolderOf(const std::string& name) {
  const size_t slash = name.rfind('/');
  return slash == std::string::npos ? "" : name.substr(0, slash);
}

// Where one image has the number of a class, all have one.
absl::Status CheckLabels(const ImageFolder& folder,
                         const std::vector<ImageFile>& files) {
  const auto is_labeled = [](const ImageFile& file) { return file.label >= 0; };
  if (std::none_of(files.begin(), files.end(), is_labeled)) {
    return absl::OkStatus();
  }
  for (const ImageFile& file : files) {
    RETURN_IF_ERROR(CheckLabel(file.path, file.label, folder.classes));
  }
  return absl::OkStatus();
}

// Labels `all`, and keeps those of this process.
absl::Status TakeShare(const ImageFolder& folder, std::vector<ImageFile> all,
                       std::vector<int64_t>* kept, ImageData* data) {
  RETURN_IF_ERROR(CheckLabels(folder, all));
  const bool has_numbers = !all.empty() && all[0].label >= 0;
  ASSIGN_OR_RETURN(data->classes, LabelImages(folder, /*folders=*/{}, &all));
  data->files = ShareOf(folder, all, kept);
  if (has_numbers || !data->classes.empty()) return absl::OkStatus();
  data->note += ", classes in turn";
  return absl::OkStatus();
}

absl::StatusOr<ImageData> FromShards(const ImageFolder& folder,
                                     const std::vector<std::string>& shards) {
  ASSIGN_OR_RETURN(std::unique_ptr<Source> source, ShardSource(shards));
  ImageData data;
  std::vector<ImageFile> all;
  size_t shard = 0;
  for (int64_t i = 0; i < source->size(); ++i) {
    std::string name = source->name(i);
    while (!absl::StartsWith(name, absl::StrCat(shards[shard], ":"))) ++shard;
    std::string above = FolderOf(name.substr(shards[shard].size() + 1));
    all.push_back({std::move(name), source->Place(i).bytes, source->label(i),
                   std::move(above)});
  }
  std::vector<int64_t> kept;
  RETURN_IF_ERROR(TakeShare(folder, std::move(all), &kept, &data));
  data.source = SelectItems(std::move(source), std::move(kept));
  for (const std::string& path : shards) {
    std::error_code error;
    const auto bytes = std::filesystem::file_size(path, error);
    data.local.push_back(
        {path, error ? 0 : static_cast<int64_t>(bytes), 0, ""});
  }
  return data;
}

absl::StatusOr<ImageData> FromStore(
    const ImageFolder& folder,
    const std::map<std::string, std::string>& fields) {
  ASSIGN_OR_RETURN(StoreListing listing,
                   ListStore(fields, /*needs_labels=*/true));
  ImageData data;
  std::vector<SourceFile>& items = listing.items;
  const bool is_shards = !items[0].part->member.empty();
  if (!is_shards) {
    // As files of a folder are: the same data gives the same batches.
    std::sort(items.begin(), items.end(),
              [](const SourceFile& a, const SourceFile& b) {
                return std::filesystem::path(a.path) <
                       std::filesystem::path(b.path);
              });
  }
  std::vector<ImageFile> all;
  for (size_t i = 0; i < items.size(); ++i) {
    const std::string& member = items[i].part->member;
    all.push_back(
        {is_shards ? absl::StrCat(items[i].path, ":", member) : items[i].path,
         items[i].bytes, listing.labels[i],
         FolderOf(is_shards ? member : items[i].path)});
  }
  if (listing.left_out.total() > 0) {
    data.note = absl::StrCat(", ignored ", listing.left_out.total());
  }
  std::vector<int64_t> kept;
  RETURN_IF_ERROR(TakeShare(folder, std::move(all), &kept, &data));
  std::vector<SourceFile> own;
  for (const int64_t i : kept) own.push_back(std::move(items[i]));
  ASSIGN_OR_RETURN(data.source, OpenRemoteSource(listing.store, own));
  return data;
}

}  // namespace

absl::StatusOr<ImageData> OpenImageData(
    const ImageFolder& folder,
    const std::map<std::string, std::string>& store) {
  if (!store.empty()) return FromStore(folder, store);
  std::error_code error;
  if (!std::filesystem::exists(folder.path, error) &&
      absl::StrContains(folder.path, '{')) {
    ASSIGN_OR_RETURN(const std::vector<std::string> shards,
                     ExpandBraceLists(folder.path));
    return FromShards(folder, shards);
  }
  if (IsShards(folder.path)) return FromShards(folder, ShardsOf(folder.path));
  ASSIGN_OR_RETURN(ImageList list, ListImages(folder));
  ImageData data;
  data.files = std::move(list.files);
  data.classes = std::move(list.classes);
  data.special = std::move(list.special);
  data.source = SourceOf(data.files);
  data.local = data.files;
  return data;
}

}  // namespace feedrate
