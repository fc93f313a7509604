#include "lib/storage/cache/space_keeper.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lib/base/files.h"

namespace feedrate {
namespace {

namespace fs = std::filesystem;

// Some more than needed goes, so that not every entry looks through all.
constexpr double kKeptShare = 0.9;

// Held between processes. One that dies lets go of it.
class FileLock {
 public:
  explicit FileLock(int fd) : fd_(fd) {
    while (flock(fd_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ~FileLock() { flock(fd_, LOCK_UN); }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  const int fd_;
};

int64_t ReadCount(int fd) {
  int64_t count = 0;
  const bool whole = pread(fd, &count, sizeof(count), 0) == sizeof(count);
  return whole ? std::max<int64_t>(count, 0) : 0;
}

// In place, which a full disk allows. What cannot be written is counted anew
// by whoever looks next.
void WriteCount(int fd, int64_t count) {
  if (pwrite(fd, &count, sizeof(count), 0) < 0) return;
}

// Calls `visit` with the path of each file two levels below `folder`.
template <typename Visit>
void ForEachBelow(const std::string& folder, const Visit& visit) {
  std::error_code error;
  for (fs::directory_iterator outer(folder, error), end; !error && outer != end;
       outer.increment(error)) {
    std::error_code inner_error;
    for (fs::directory_iterator inner(outer->path(), inner_error);
         !inner_error && inner != end; inner.increment(inner_error)) {
      visit(inner->path().string());
    }
  }
}

struct Blob {
  int64_t used_ns = 0;
  int64_t bytes = 0;
  std::string path;
};

std::vector<Blob> BlobsIn(const std::string& folder) {
  std::vector<Blob> blobs;
  ForEachBelow(folder, [&](const std::string& path) {
    struct stat info;
    if (lstat(path.c_str(), &info) != 0) return;
    const timespec& used = info.st_atim;
    blobs.push_back(
        {int64_t{used.tv_sec} * 1000000000 + used.tv_nsec, info.st_size, path});
  });
  return blobs;
}

}  // namespace

absl::Status SpaceKeeper::Open() {
  const std::string path = JoinPath(folder_, "bytes");
  file_.Reset(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!file_.valid()) {
    return absl::PermissionDeniedError(absl::StrCat(
        path, ": ", std::strerror(errno), "; name another --cache_dir"));
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  const FileLock file_lock(file_.get());
  WriteCount(file_.get(), CountAndEvict(0));
  return absl::OkStatus();
}

absl::Status SpaceKeeper::MakeRoom(int64_t bytes) {
  if (max_bytes_ > 0 && bytes > max_bytes_) {
    return absl::ResourceExhaustedError(
        absl::StrCat(folder_, ": an entry of ", bytes,
                     " bytes is more than the cache may hold"));
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  const FileLock file_lock(file_.get());
  int64_t total = ReadCount(file_.get()) + bytes;
  if (max_bytes_ > 0 && total > max_bytes_) {
    total = CountAndEvict(bytes) + bytes;
  }
  WriteCount(file_.get(), total);
  return absl::OkStatus();
}

int64_t SpaceKeeper::evictions() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return evictions_;
}

// Returns what stays. REQUIRES: both locks are held.
int64_t SpaceKeeper::CountAndEvict(int64_t room) {
  std::vector<Blob> blobs = BlobsIn(JoinPath(folder_, "blobs"));
  int64_t total = 0;
  for (const Blob& blob : blobs) total += blob.bytes;
  if (max_bytes_ == 0 || total + room <= max_bytes_) return total;
  std::sort(blobs.begin(), blobs.end(),
            [](const Blob& a, const Blob& b) { return a.used_ns < b.used_ns; });
  const double kept = kKeptShare * static_cast<double>(max_bytes_);
  for (const Blob& blob : blobs) {
    if (static_cast<double>(total + room) <= kept) break;
    if (unlink(blob.path.c_str()) != 0) continue;
    total -= blob.bytes;
    ++evictions_;
  }
  DropDanglingNames();
  return total;
}

void SpaceKeeper::DropDanglingNames() const {
  // Should the blob come back at this very moment, its name is gone and the
  // next reader misses: slower, never wrong.
  ForEachBelow(JoinPath(folder_, "names"), [](const std::string& path) {
    if (access(path.c_str(), F_OK) != 0) unlink(path.c_str());
  });
}

}  // namespace feedrate
