#include "lib/loader/file_source.h"

#include <sys/stat.h>

#include <utility>

#include "absl/strings/match.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/loader/read_place.h"

namespace feedrate {
namespace {

class Files : public Source {
 public:
  Files(std::vector<ListedFile> files, FileAccess access)
      : files_(std::move(files)), access_(access) {}

  int64_t size() const override { return static_cast<int64_t>(files_.size()); }
  std::string name(int64_t item) const override { return files_[item].path; }

  ItemPlace Place(int64_t item) const override {
    ItemPlace place;
    place.path = files_[item].path.c_str();
    place.bytes = files_[item].bytes;
    return place;
  }

  absl::StatusOr<absl::string_view> Read(int64_t item,
                                         ReadBuffer* buffer) const override {
    return access_ == FileAccess::kMap ? MapPlace(Place(item), buffer)
                                       : ReadPlace(Place(item), buffer);
  }

 private:
  std::vector<ListedFile> files_;
  FileAccess access_;
};

int64_t SizeOf(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) ? info.st_size
                                                                 : 0;
}

}  // namespace

bool IsItemName(absl::string_view name) {
  for (const char* ending : {".jpg", ".jpeg", ".png", ".npy"}) {
    if (absl::EndsWithIgnoreCase(name, ending)) return true;
  }
  return false;
}

std::unique_ptr<Source> ListSource(std::vector<ListedFile> files,
                                   FileAccess access) {
  for (ListedFile& file : files) {
    if (file.bytes < 0) file.bytes = SizeOf(file.path);
  }
  return std::make_unique<Files>(std::move(files), access);
}

absl::StatusOr<std::unique_ptr<Source>> FolderSource(const std::string& folder,
                                                     FileAccess access) {
  ASSIGN_OR_RETURN(std::vector<std::string> paths,
                   ListFiles(folder, "", /*recursive=*/true));
  std::vector<ListedFile> files;
  files.reserve(paths.size());
  for (std::string& path : paths) {
    if (IsItemName(path)) files.push_back({std::move(path), -1});
  }
  return ListSource(std::move(files), access);
}

}  // namespace feedrate
