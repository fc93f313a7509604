#include "lib/model/worker/image_files.h"

#include <sys/vfs.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>

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
                                  std::vector<std::string>* special) {
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
  paths.resize(static_cast<size_t>(paths.size() * folder.sample_ratio));
  std::map<std::string, int64_t> folders;
  for (const auto& path : paths) {
    folders.emplace(path.parent_path().string(), folders.size());
  }
  std::vector<ImageFile> files;
  for (size_t i = folder.rank; i < paths.size(); i += folder.world_size) {
    const int64_t label =
        folders.size() > 1 ? folders[paths[i].parent_path().string()] : i;
    files.push_back({paths[i].string(),
                     static_cast<int64_t>(std::filesystem::file_size(paths[i])),
                     label % folder.classes});
  }
  return files;
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
