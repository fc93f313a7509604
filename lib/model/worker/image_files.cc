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

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/loader/source/source.h"
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

}  // namespace

std::vector<ImageFile> ListImages(const ImageFolder& folder,
                                  std::vector<std::string>* special,
                                  std::vector<std::string>* names) {
  std::vector<std::filesystem::path> paths;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(folder.path, error)) {
    if (!IsItemName(entry.path().string())) continue;
    std::error_code unknown;
    if (entry.is_regular_file(unknown)) {
      paths.push_back(std::filesystem::absolute(entry.path()));
    } else if (!entry.is_directory(unknown)) {
      special->push_back(std::filesystem::absolute(entry.path()).string());
    }
  }
  std::sort(paths.begin(), paths.end());
  std::sort(special->begin(), special->end());
  const std::filesystem::path root =
      std::filesystem::absolute(folder.path).lexically_normal();
  const auto below = [&root](const std::filesystem::path& path) {
    const std::string place =
        path.parent_path().lexically_normal().lexically_relative(root).string();
    return place == "." ? "" : place;
  };
  std::vector<ImageFile> all;
  for (const auto& path : paths) {
    all.push_back({path.string(), 0, -1, below(path)});
  }
  std::vector<int64_t> kept;
  std::vector<ImageFile> files = ShareOf(folder, all, names, &kept);
  for (ImageFile& file : files) {
    file.bytes = static_cast<int64_t>(std::filesystem::file_size(file.path));
  }
  return files;
}

std::vector<ImageFile> ShareOf(const ImageFolder& folder,
                               const std::vector<ImageFile>& all,
                               std::vector<std::string>* names,
                               std::vector<int64_t>* kept) {
  std::map<std::filesystem::path, int64_t> numbers;
  for (const ImageFile& file : all) {
    if (file.label < 0) numbers.emplace(file.folder, 0);
  }
  int64_t classes = 0;
  for (auto& [name, number] : numbers) {
    number = classes++;
    if (names != nullptr && numbers.size() > 1) names->push_back(name.string());
  }
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
    if (file.label >= 0) continue;
    file.label =
        (numbers.size() > 1 ? numbers[file.folder] : place) % folder.classes;
  }
  return files;
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
      label < 0 ? ": has no number of a class; it needs a member .cls"
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
  // All files, so that classes have the same numbers in every process.
  ImageFolder whole = folder;
  whole.rank = 0;
  whole.world_size = 1;
  std::vector<std::string> special;
  const std::vector<ImageFile> all = ListImages(whole, &special);
  if (all.empty()) {
    std::vector<std::string> shards = ShardsOf(folder.path);
    if (!shards.empty()) return ListShards(folder, std::move(shards));
    return absl::InvalidArgumentError(
        absl::StrCat(folder.path,
                     ": has no images; name a folder that has a subfolder per "
                     "class, or tar shards"));
  }
  std::map<std::string, int64_t> numbers;
  for (const std::string& name : names) numbers.emplace(name, numbers.size());
  LabeledImages images;
  for (size_t i = 0; i < all.size(); ++i) {
    ImageFile file = all[i];
    if (file.folder.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(file.path,
                       ": is in no subfolder; a labeled folder has a subfolder "
                       "per class"));
    }
    if (names.empty()) {
      numbers.emplace(file.folder, numbers.size());
      if (static_cast<int64_t>(numbers.size()) > folder.classes) {
        return absl::InvalidArgumentError(absl::StrCat(
            folder.path, ": has more than the model's ", folder.classes,
            " classes; use the data that it was trained on"));
      }
    }
    const auto number = numbers.find(file.folder);
    if (number == numbers.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat(folder.path, ": the model was not trained on a class \"",
                       file.folder, "\"; rename or remove this subfolder"));
    }
    if (static_cast<int>(i % folder.world_size) != folder.rank) continue;
    file.label = number->second % folder.classes;
    images.files.push_back(file);
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
