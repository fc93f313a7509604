#include "lib/media/image_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/media/image_file.h"
#include "lib/media/synthetic.h"

namespace feedrate {
namespace {

// Headers with a preview or a colour profile are longer, and then the whole
// file is read.
constexpr size_t kHeaderBytes = 1 << 15;

absl::Status Errno(absl::string_view what) {
  return absl::UnavailableError(absl::StrCat(what, ": ", std::strerror(errno)));
}

// Replaces `bytes` by at most `limit` bytes of a plain file. Messages leave out
// the path.
absl::Status ReadUpTo(const std::string& path, size_t limit,
                      std::string* bytes) {
  // A pipe among the files would wait for a writer for ever.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return Errno("cannot be opened");
  struct Closer {
    int fd;
    ~Closer() { close(fd); }
  } closer{fd};
  struct stat info;
  if (fstat(fd, &info) != 0) return Errno("cannot be read");
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError("no plain file");
  }
  bytes->resize(std::min<uint64_t>(limit, info.st_size));
  size_t have = 0;
  while (have < bytes->size()) {
    const ssize_t got = read(fd, &(*bytes)[have], bytes->size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Errno("cannot be read");
    if (got == 0) break;  // Cut off under us.
    have += static_cast<size_t>(got);
  }
  bytes->resize(have);
  return absl::OkStatus();
}

class FolderSource : public ImageSource {
 public:
  FolderSource(std::string folder, std::vector<std::string> paths)
      : folder_(std::move(folder)), paths_(std::move(paths)) {}

  int64_t size() const override { return static_cast<int64_t>(paths_.size()); }

  std::string name(int64_t i) const override {
    absl::string_view name = paths_[i];
    absl::ConsumePrefix(&name, folder_);
    while (absl::ConsumePrefix(&name, "/")) {
    }
    return std::string(name);
  }

  absl::StatusOr<ImageInfo> ReadHeader(int64_t i) const override {
    thread_local std::string bytes;
    RETURN_IF_ERROR(ReadUpTo(paths_[i], kHeaderBytes, &bytes));
    absl::StatusOr<ImageInfo> info = ReadImageHeader(bytes);
    if (!absl::IsOutOfRange(info.status())) return info;
    RETURN_IF_ERROR(Read(i, &bytes));
    return ReadImageHeader(bytes);
  }

  absl::Status Read(int64_t i, std::string* bytes) const override {
    return ReadUpTo(paths_[i], std::numeric_limits<size_t>::max(), bytes);
  }

 private:
  const std::string folder_;
  const std::vector<std::string> paths_;
};

class SyntheticSource : public ImageSource {
 public:
  explicit SyntheticSource(const SyntheticSpec& spec) : spec_(spec) {}

  int64_t size() const override { return spec_.n; }
  std::string name(int64_t i) const override { return SyntheticName(i); }
  absl::StatusOr<ImageInfo> ReadHeader(int64_t i) const override {
    return SyntheticSize(spec_.seed, i);
  }
  absl::Status Read(int64_t i, std::string* bytes) const override {
    *bytes = SyntheticJpeg(spec_.seed, i);
    return absl::OkStatus();
  }

 private:
  const SyntheticSpec spec_;
};

bool HasExtension(absl::string_view path,
                  const std::vector<std::string>& extensions) {
  return std::any_of(extensions.begin(), extensions.end(),
                     [path](const std::string& extension) {
                       return absl::EndsWithIgnoreCase(path, extension);
                     });
}

absl::StatusOr<std::unique_ptr<ImageSource>> OpenFolder(
    const std::string& folder, const std::vector<std::string>& extensions) {
  if (!IsFolder(folder)) {
    return absl::NotFoundError(absl::StrCat(
        folder,
        ": no such folder of images; name a folder, or make images "
        "with --dataset=synthetic:rgb"));
  }
  ASSIGN_OR_RETURN(std::vector<std::string> paths,
                   ListFiles(folder, "", /*recursive=*/true));
  if (!extensions.empty()) {
    const auto others = std::remove_if(paths.begin(), paths.end(),
                                       [&extensions](const std::string& path) {
                                         return !HasExtension(path, extensions);
                                       });
    paths.erase(others, paths.end());
  }
  return std::make_unique<FolderSource>(folder, std::move(paths));
}

}  // namespace

absl::StatusOr<std::unique_ptr<ImageSource>> OpenImages(
    const std::string& dataset, const std::vector<std::string>& extensions,
    int64_t num_items) {
  if (!IsSynthetic(dataset)) return OpenFolder(dataset, extensions);
  ASSIGN_OR_RETURN(SyntheticSpec spec, ParseSynthetic(dataset));
  if (spec.n == 0) spec.n = num_items;
  if (spec.n == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        dataset, ": how many? Set num_items, or write ", dataset, ",n=100"));
  }
  return std::make_unique<SyntheticSource>(spec);
}

}  // namespace feedrate
