#include "lib/model/worker/image_files.h"

#include <sys/vfs.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/loader/source.h"
#include "lib/machine/resources.h"
#include "lib/machine/root.h"

namespace feedrate {
namespace {

// Enough to measure the speed of a disk, little enough not to fill the cache.
constexpr int64_t kProbeBytes = 64 << 20;

std::string FileSystemName(const std::string& folder) {
  struct statfs info;
  if (statfs(folder.c_str(), &info) != 0) return "unknown";
  switch (static_cast<uint32_t>(info.f_type)) {
    case 0xEF53:
      return "ext4";
    case 0x01021994:
      return "tmpfs";
    case 0x58465342:
      return "xfs";
    case 0x9123683E:
      return "btrfs";
    case 0x6969:
      return "nfs";
    case 0x65735546:
      return "fuse";
    case 0x794C7630:
      return "overlay";
    default:
      return "other";
  }
}

// The first files, whose reading speed is measured.
std::vector<std::string> ProbedFiles(const std::vector<ImageFile>& files) {
  std::vector<std::string> paths;
  int64_t bytes = 0;
  for (const ImageFile& file : files) {
    if (bytes > kProbeBytes) break;
    paths.push_back(file.path);
    bytes += file.bytes;
  }
  return paths;
}

// Bytes per second of reading the whole files one after another.
double ReadingRate(const std::vector<std::string>& paths) {
  std::vector<char> buffer(1 << 20);
  int64_t bytes = 0;
  const auto start = std::chrono::steady_clock::now();
  for (const std::string& path : paths) {
    std::ifstream in(path, std::ios::binary);
    while (in.read(buffer.data(), buffer.size()) || in.gcount() > 0) {
      bytes += in.gcount();
    }
  }
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - start;
  return bytes / std::max(took.count(), 1e-9);
}

// Lists all images of a folder, without labels, and what else is in it. Returns
// the folders of the classes.
absl::StatusOr<std::vector<std::string>> ListAll(const std::string& root,
                                                 ImageList* list,
                                                 std::vector<ImageFile>* all) {
  ASSIGN_OR_RETURN(DataFolder listing, ListDataFolder(root));
  KeepClassified(root, &listing);
  list->left_out = listing.left_out;
  const std::filesystem::path base =
      std::filesystem::absolute(root).lexically_normal();
  std::vector<std::filesystem::path> paths;
  for (const std::string& path : listing.paths) {
    paths.push_back(std::filesystem::absolute(path).lexically_normal());
  }
  // By folder before name, so that shards and stores can have the same order.
  std::sort(paths.begin(), paths.end());
  for (const std::filesystem::path& path : paths) {
    const absl::StatusOr<int64_t> bytes = PlainFileBytes(path.string());
    if (!bytes.ok()) {
      list->special.push_back(path.string());
      continue;
    }
    const std::string place =
        path.parent_path().lexically_relative(base).string();
    all->push_back({path.string(), *bytes, -1, place == "." ? "" : place});
  }
  return listing.folders;
}

// LabelImages, with the numbers of `known` classes if there are any.
absl::StatusOr<std::vector<std::string>> LabelAs(
    const ImageFolder& folder, const std::vector<std::string>& folders,
    const std::vector<std::string>& known, std::vector<ImageFile>* all) {
  std::vector<std::string> class_of;
  for (const ImageFile& file : *all) {
    if (file.label >= 0) return std::vector<std::string>();
    class_of.push_back(file.folder.substr(0, file.folder.find('/')));
  }
  ASSIGN_OR_RETURN(ItemClasses classes,
                   NumberClasses(folder.path, class_of, folders, known));
  if (static_cast<int64_t>(classes.names.size()) > folder.classes) {
    return absl::InvalidArgumentError(
        absl::StrCat(folder.path, ": has ", classes.names.size(),
                     " classes, and the model has ", folder.classes,
                     "; use data with as many classes as the model"));
  }
  if (classes.names.empty()) {
    for (const ImageFile& file : *all) {
      if (file.label == kNoNumber) {
        return CheckLabel(file.path, file.label, folder.classes);
      }
    }
    return classes.names;
  }
  for (size_t i = 0; i < all->size(); ++i) {
    if (classes.labels[i] < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat((*all)[i].path,
                       ": is in no folder of a class, and others are; move it "
                       "into one"));
    }
    (*all)[i].label = classes.labels[i];
  }
  return classes.names;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> LabelImages(
    const ImageFolder& folder, const std::vector<std::string>& folders,
    std::vector<ImageFile>* all) {
  return LabelAs(folder, folders, /*known=*/{}, all);
}

absl::StatusOr<ImageList> ListImages(const ImageFolder& folder) {
  ImageList list;
  std::error_code error;
  if (!std::filesystem::is_directory(folder.path, error)) return list;
  std::vector<ImageFile> all;
  ASSIGN_OR_RETURN(const std::vector<std::string> folders,
                   ListAll(folder.path, &list, &all));
  ASSIGN_OR_RETURN(list.classes, LabelImages(folder, folders, &all));
  std::vector<int64_t> kept;
  list.files = ShareOf(folder, all, &kept);
  return list;
}

std::vector<ImageFile> ShareOf(const ImageFolder& folder,
                               const std::vector<ImageFile>& all,
                               std::vector<int64_t>* kept) {
  std::vector<ImageFile> files;
  int64_t sampled = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    // Evenly over all files, so that every class keeps its share.
    const auto before = [&](size_t index) {
      return static_cast<size_t>(index * folder.sample_ratio);
    };
    if (before(i + 1) == before(i)) continue;
    const int64_t place = sampled++;
    if (place % folder.world_size != folder.rank) continue;
    kept->push_back(static_cast<int64_t>(i));
    ImageFile& file = files.emplace_back(all[i]);
    if (file.label < 0) file.label = place % folder.classes;
  }
  return files;
}

bool IsShards(const std::string& path) {
  if (ShardsOf(path).empty()) return false;
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return true;
  const absl::StatusOr<DataFolder> listing = ListDataFolder(path);
  return listing.ok() && listing->paths.empty();
}

std::unique_ptr<Source> SourceOf(const std::vector<ImageFile>& files) {
  std::vector<ListedFile> listed;
  for (const ImageFile& file : files) listed.push_back({file.path, file.bytes});
  return ListSource(std::move(listed));
}

std::vector<std::string> ShardsOf(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_regular_file(path, error)) return {path};
  std::vector<std::string> shards;
  for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
    if (entry.path().extension() == ".tar" && entry.is_regular_file(error)) {
      shards.push_back(entry.path().string());
    }
  }
  std::sort(shards.begin(), shards.end());
  return shards;
}

absl::Status CheckLabel(const std::string& name, int64_t label,
                        int64_t classes) {
  if (label >= 0 && label < classes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      name,
      label < 0 ? ": has no number of a class; it needs one in a member .cls"
                : absl::StrCat(": is of class ", label),
      ", and the model has classes 0 to ", classes - 1));
}

namespace {

absl::StatusOr<LabeledImages> ListShards(const ImageFolder& folder,
                                         std::vector<std::string> shards) {
  if (folder.world_size > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        folder.path, ": shards are for one process; use a folder of images"));
  }
  const auto source = ShardSource(shards);
  if (!source.ok()) return source.status();
  LabeledImages images;
  for (int64_t i = 0; i < (*source)->size(); ++i) {
    const std::string name = (*source)->name(i);
    const int64_t label = (*source)->label(i);
    RETURN_IF_ERROR(CheckLabel(name, label, folder.classes));
    const size_t tar = name.find(".tar:");
    images.files.push_back(
        {name, (*source)->Place(i).bytes, label,
         std::filesystem::path(name.substr(0, tar + 4)).filename().string()});
  }
  if (images.files.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(folder.path, ": its shards have no images"));
  }
  images.shards = std::move(shards);
  return images;
}

}  // namespace

absl::StatusOr<LabeledImages> ListLabeledImages(
    const ImageFolder& folder, const std::vector<std::string>& names) {
  std::error_code error;
  if (!std::filesystem::exists(folder.path, error)) {
    return absl::NotFoundError(absl::StrCat(
        folder.path,
        ": no such folder; name one that has a subfolder per class"));
  }
  if (IsShards(folder.path)) return ListShards(folder, ShardsOf(folder.path));
  ImageList list;
  std::vector<ImageFile> all;
  ASSIGN_OR_RETURN(const std::vector<std::string> folders,
                   ListAll(folder.path, &list, &all));
  if (all.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(folder.path,
                     ": has no images; name a folder that has a subfolder per "
                     "class, or tar shards"));
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> classes,
                   LabelAs(folder, folders, names, &all));
  if (classes.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(all[0].path,
                     ": is in no subfolder; a labeled folder has a subfolder "
                     "per class"));
  }
  LabeledImages images;
  images.special = std::move(list.special);
  images.left_out = std::move(list.left_out);
  for (size_t i = folder.rank; i < all.size(); i += folder.world_size) {
    images.files.push_back(std::move(all[i]));
  }
  return images;
}

namespace {

constexpr char kClass[] = "class.";

}  // namespace

std::map<std::string, std::string> MetaOfClasses(
    const std::vector<std::string>& names) {
  std::map<std::string, std::string> meta;
  for (size_t i = 0; i < names.size(); ++i) {
    std::string& value = meta[absl::StrCat(kClass, i)];
    for (const char c : names[i]) {
      if (c == '%' || static_cast<unsigned char>(c) <= ' ') {
        absl::StrAppend(&value, "%", absl::Hex(c, absl::kZeroPad2));
      } else {
        value.push_back(c);
      }
    }
  }
  return meta;
}

std::vector<std::string> ClassesOfMeta(
    const std::map<std::string, std::string>& meta) {
  std::vector<std::string> names;
  for (;;) {
    const auto found = meta.find(absl::StrCat(kClass, names.size()));
    if (found == meta.end()) return names;
    std::string& name = names.emplace_back();
    for (size_t i = 0; i < found->second.size(); ++i) {
      if (found->second[i] == '%' && i + 2 < found->second.size()) {
        name.push_back(static_cast<char>(
            std::strtol(found->second.substr(i + 1, 2).c_str(), nullptr, 16)));
        i += 2;
      } else {
        name.push_back(found->second[i]);
      }
    }
  }
}

std::string PrepareStorage(const std::string& folder,
                           const std::vector<ImageFile>& files, bool cold,
                           const std::function<void()>& alive,
                           double* resident) {
  std::vector<std::string> paths;
  int64_t bytes = 0;
  for (const ImageFile& file : files) {
    paths.push_back(file.path);
    bytes += file.bytes;
  }
  char text[64];
  std::snprintf(text, sizeof(text), ", %.0f MB/s",
                ReadingRate(ProbedFiles(files)) / 1e6);
  std::string label = FileSystemName(folder) + text;
  const std::optional<int64_t> available = ReadAvailableMemory(Root());
  // A file that cannot be read is the loader's to name.
  if (cold) {
    DropPages(paths).IgnoreError();
  } else if (available.has_value() && bytes <= *available / 2) {
    for (const std::string& path : paths) {
      ReadPages({path}).IgnoreError();
      alive();
    }
  }
  const absl::StatusOr<double> share = ResidentFraction(paths);
  *resident = share.ok() ? *share : -1;
  if (share.ok()) {
    std::snprintf(text, sizeof(text), ", %.0f%% cached",
                  std::floor(*share * 100));
    label += text;
  }
  return label;
}

}  // namespace feedrate
