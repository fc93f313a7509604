#include "lib/storage/cache/cache_dir.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <random>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/allowed_sizes.h"
#include "lib/base/files.h"
#include "lib/base/private_folder.h"
#include "lib/base/status_macros.h"
#include "lib/storage/checksum.h"

namespace feedrate {
namespace {

constexpr absl::string_view kOwner = ".owner";

std::string RandomName() {
  std::random_device random;
  return absl::StrFormat("%08x%08x", random(), random());
}

std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator file(folder, error), end;
       !error && file != end; file.increment(error)) {
    names.push_back(file->path().filename().string());
  }
  return names;
}

// The files of `owner` in `folder`, except its lock.
void RemoveOf(absl::string_view owner, const std::string& folder,
              const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (!absl::StartsWith(name, owner) || absl::EndsWith(name, kOwner)) {
      continue;
    }
    std::error_code ignored;
    std::filesystem::remove_all(JoinPath(folder, name), ignored);
  }
}

}  // namespace

TempSpace::~TempSpace() {
  if (owner_.empty()) return;
  RemoveOf(owner_, folder_, NamesIn(folder_));
  unlink(JoinPath(folder_, absl::StrCat(owner_, kOwner)).c_str());
}

void TempSpace::SweepOrphans() const {
  const std::vector<std::string> names = NamesIn(folder_);
  for (const std::string& name : names) {
    if (!absl::EndsWith(name, kOwner)) continue;
    const std::string path = JoinPath(folder_, name);
    const UniqueFd fd(
        open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!fd.valid() || flock(fd.get(), LOCK_EX | LOCK_NB) != 0) continue;
    RemoveOf(name.substr(0, name.size() - kOwner.size()), folder_, names);
    // The lock file last: if this process is killed, the next one cleans up.
    unlink(path.c_str());
  }
}

absl::Status TempSpace::TakeOwnership() {
  // Another process may remove the file as an orphan before it is locked. Then
  // another one is tried.
  for (int tries = 0; tries < 10; ++tries) {
    std::string owner = RandomName();
    const std::string path = JoinPath(folder_, absl::StrCat(owner, kOwner));
    UniqueFd fd(
        open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!fd.valid()) {
      return absl::UnavailableError(
          absl::StrCat(path, ": ", std::strerror(errno)));
    }
    struct stat info;
    if (flock(fd.get(), LOCK_EX) == 0 && fstat(fd.get(), &info) == 0 &&
        info.st_nlink > 0) {
      owner_ = std::move(owner);
      owner_lock_ = std::move(fd);
      return absl::OkStatus();
    }
  }
  return absl::UnavailableError(
      absl::StrCat(folder_, ": files cannot be locked here"));
}

absl::StatusOr<std::string> TempSpace::NewPath() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (owner_.empty()) RETURN_IF_ERROR(TakeOwnership());
  return JoinPath(folder_, absl::StrCat(owner_, ".", paths_++));
}

namespace {

namespace fs = std::filesystem;

// Removes somewhat more than needed, so that not every new entry causes a scan.
constexpr double kKeptShare = 0.9;

// A lock between processes. It is released when its process dies.
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
  return whole ? std::clamp<int64_t>(count, 0, kMaxDatasetBytes) : 0;
}

// Writes in place, which works on a full disk. If it fails, the next scan
// recounts.
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

// Another user could have put it there, or be able to change it.
absl::Status CheckOurs(const std::string& path, const struct stat& info) {
  const absl::Status status = CheckPrivate(path, info);
  if (!status.ok() || S_ISREG(info.st_mode) || S_ISDIR(info.st_mode)) {
    return status;
  }
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": is not a plain file; remove it"));
}

struct Blob {
  int64_t used_ns = 0;
  int64_t bytes = 0;
  std::string path;
};

// `trusted` gets the first error of a blob that is not ours.
std::vector<Blob> BlobsIn(const std::string& folder, absl::Status* trusted) {
  std::vector<Blob> blobs;
  ForEachBelow(folder, [&](const std::string& path) {
    struct stat info;
    if (lstat(path.c_str(), &info) != 0) return;
    trusted->Update(CheckOurs(path, info));
    const timespec& used = info.st_atim;
    blobs.push_back(
        {int64_t{used.tv_sec} * 1000000000 + used.tv_nsec, info.st_size, path});
  });
  return blobs;
}

}  // namespace

absl::Status SizeLimiter::Open() {
  const std::string path = JoinPath(folder_, "bytes");
  file_.Reset(open(path.c_str(),
                   O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
                   0600));
  struct stat info;
  if (!file_.valid() || fstat(file_.get(), &info) != 0) {
    return absl::PermissionDeniedError(absl::StrCat(
        path, ": ", std::strerror(errno), "; name another --cache_dir"));
  }
  RETURN_IF_ERROR(CheckOurs(path, info));
  const std::lock_guard<std::mutex> lock(mutex_);
  const FileLock file_lock(file_.get());
  absl::Status trusted;
  WriteCount(file_.get(), CountAndEvict(0, &trusted));
  return trusted;
}

absl::Status SizeLimiter::MakeRoom(int64_t bytes) {
  if (max_bytes_ > 0 && bytes > max_bytes_) {
    return absl::ResourceExhaustedError(
        absl::StrCat(folder_, ": an entry of ", bytes,
                     " bytes is more than the cache may hold"));
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  const FileLock file_lock(file_.get());
  int64_t total = ReadCount(file_.get()) + bytes;
  if (max_bytes_ > 0 && total > max_bytes_) {
    absl::Status ignored;
    total = CountAndEvict(bytes, &ignored) + bytes;
  }
  WriteCount(file_.get(), total);
  return absl::OkStatus();
}

int64_t SizeLimiter::evictions() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return evictions_;
}

// Returns the bytes that remain. REQUIRES: both locks are held.
int64_t SizeLimiter::CountAndEvict(int64_t room, absl::Status* trusted) {
  std::vector<Blob> blobs = BlobsIn(JoinPath(folder_, "blobs"), trusted);
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

void SizeLimiter::DropDanglingNames() const {
  // If the blob reappears at this very moment, its name is gone and the next
  // reader misses: slower, but never wrong.
  ForEachBelow(JoinPath(folder_, "names"), [](const std::string& path) {
    if (access(path.c_str(), F_OK) != 0) unlink(path.c_str());
  });
}

namespace {

namespace fs = std::filesystem;

constexpr char kTag[] = "CACHEDIR.TAG";
// Backup programs look for the first line.
constexpr char kTagText[] =
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# A cache of feedrate, version 1. It may be deleted at any time.\n";

// Above this number, everything is forgotten: the cache's index must not fill a
// process's memory.
constexpr size_t kMostKnown = 1 << 20;

constexpr int64_t kPiece = 1 << 20;

// Two changes within this time may have the same change time.
constexpr int64_t kTimeGrain = 100000000;

int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

int64_t ToNs(double seconds) { return static_cast<int64_t>(seconds * 1e9); }
int64_t ToNs(const timespec& time) {
  return int64_t{time.tv_sec} * 1000000000 + time.tv_nsec;
}

// Hash of the key, so that its length and characters do not matter.
std::string HashOf(const std::string& key) {
  return Sha256Hex(key).substr(0, 40);
}

bool ParseBlob(const std::string& blob, uint32_t* crc32c) {
  constexpr size_t kSha = Sha256::kHexSize;
  return blob.size() == kSha + 9 && blob[kSha] == '-' &&
         absl::SimpleHexAtoi(absl::string_view(blob).substr(kSha + 1), crc32c);
}

// Digest of all bytes that can be read.
uint32_t ChecksumOf(int fd) {
  uint32_t crc32c = 0;
  std::string piece(kPiece, '\0');
  for (int64_t at = 0;;) {
    const ssize_t got = pread(fd, piece.data(), piece.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return crc32c;
    crc32c = Crc32c(absl::string_view(piece.data(), got), crc32c);
    at += got;
  }
}

// Renames; creates the folder of the target if that is missing.
int RenameInto(const std::string& from, const std::string& to) {
  if (rename(from.c_str(), to.c_str()) == 0) return 0;
  if (errno != ENOENT) return errno;
  if (mkdir(ParentFolder(to).c_str(), 0700) != 0 && errno != EEXIST) {
    return errno;
  }
  return rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

}  // namespace

CacheDir::CacheDir(const CacheOptions& options)
    : options_(options),
      temp_(JoinPath(options.folder, "tmp")),
      space_(options.folder, options.max_bytes) {}

absl::StatusOr<std::unique_ptr<CacheDir>> CacheDir::Open(
    const CacheOptions& options) {
  std::unique_ptr<CacheDir> cache(new CacheDir(options));
  RETURN_IF_ERROR(cache->MakeLayout());
  cache->temp_.SweepOrphans();
  RETURN_IF_ERROR(cache->space_.Open());
  return cache;
}

absl::Status CacheDir::MakeLayout() const {
  const std::string& folder = options_.folder;
  RETURN_IF_ERROR(MakePrivateFolder(folder));
  const std::string tag = JoinPath(folder, kTag);
  if (!IsFile(tag)) {
    std::error_code error;
    // A cache whose first process was killed has at most these.
    for (fs::directory_iterator file(folder, error), end; !error && file != end;
         file.increment(error)) {
      const std::string name = file->path().filename().string();
      if (name == "blobs" || name == "names" || name == "tmp" ||
          name == "bytes" || absl::StartsWith(name, kTag)) {
        continue;
      }
      return absl::InvalidArgumentError(
          absl::StrCat(folder, ": holds ", name,
                       " and is not a cache; name an empty folder"));
    }
  }
  for (const char* part : {"blobs", "names", "tmp"}) {
    const std::string path = JoinPath(folder, part);
    RETURN_IF_ERROR(MakePrivateFolder(path));
    // Links are not followed, wherever they are.
    RETURN_IF_ERROR(CheckPrivate(path));
    if (absl::string_view(part) == "tmp") continue;
    for (const std::string& name : NamesIn(path)) {
      RETURN_IF_ERROR(CheckPrivate(JoinPath(path, name)));
    }
  }
  // If this fails, for example on a full disk, it is still a cache.
  if (!IsFile(tag)) WriteFileAtomically(tag, kTagText).IgnoreError();
  return absl::OkStatus();
}

std::string CacheDir::BlobPath(const std::string& blob) const {
  return absl::StrCat(options_.folder, "/blobs/", blob.substr(0, 2), "/", blob);
}
std::string CacheDir::NamePath(const std::string& hash) const {
  return absl::StrCat(options_.folder, "/names/", hash.substr(0, 2), "/", hash);
}
std::optional<std::string> CacheDir::BlobOf(const std::string& hash) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = known_.find(hash);
    if (found != known_.end()) return found->second.blob;
  }
  char target[256];
  const ssize_t size = readlink(NamePath(hash).c_str(), target, sizeof(target));
  if (size <= 0 || size == sizeof(target)) return std::nullopt;
  return BaseName(absl::string_view(target, size));
}

void CacheDir::Touch(const std::string& hash, const std::string& blob) {
  const int64_t now = NowNs();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (known_.size() > kMostKnown) known_.clear();
    const auto [known, is_new] = known_.try_emplace(hash);
    known->second.blob = blob;
    if (!is_new && now - known->second.touched_ns < ToNs(options_.touch_s)) {
      return;
    }
    known->second.touched_ns = now;
  }
  // Only the access time: the modification time tells whether bytes are
  // unchanged.
  const timespec times[2] = {{0, UTIME_NOW}, {0, UTIME_OMIT}};
  utimensat(AT_FDCWD, BlobPath(blob).c_str(), times, 0);
}

std::optional<CacheDir::Entry> CacheDir::Find(const std::string& key) {
  const std::string hash = HashOf(key);
  // Tries again if what this process knew is outdated.
  for (int tries = 0; tries < 2; ++tries) {
    const std::optional<std::string> blob = BlobOf(hash);
    Entry entry;
    if (!blob.has_value() || !ParseBlob(*blob, &entry.crc32c)) {
      return std::nullopt;
    }
    entry.blob = *blob;
    entry.fd.Reset(open(BlobPath(*blob).c_str(),
                        O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat info;
    if (entry.fd.valid() && fstat(entry.fd.get(), &info) == 0 &&
        S_ISREG(info.st_mode) && CheckPrivate(*blob, info).ok()) {
      entry.bytes = info.st_size;
      Touch(hash, *blob);
      return entry;
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    if (known_.erase(hash) == 0) return std::nullopt;
  }
  return std::nullopt;
}

bool CacheDir::Verify(const Entry& entry) {
  struct stat info;
  if (fstat(entry.fd.get(), &info) != 0) return false;
  const Seen now = {info.st_ino, ToNs(info.st_mtim), info.st_size};
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto seen = seen_.find(entry.blob);
    if (seen != seen_.end() && seen->second == now) return true;
  }
  if (ChecksumOf(entry.fd.get()) != entry.crc32c) {
    Remove(entry);
    return false;
  }
  timespec clock;
  clock_gettime(CLOCK_REALTIME, &clock);
  if (ToNs(clock) - now.changed_ns < kTimeGrain) return true;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (seen_.size() > kMostKnown) seen_.clear();
  seen_[entry.blob] = now;
  return true;
}

void CacheDir::Remove(const Entry& entry) {
  unlink(BlobPath(entry.blob).c_str());
  const std::lock_guard<std::mutex> lock(mutex_);
  seen_.erase(entry.blob);
  ++counts_.bad_entries;
}

absl::Status CacheDir::Failed(absl::string_view what, absl::string_view why) {
  paused_until_ns_ = NowNs() + ToNs(options_.pause_s);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++counts_.write_failures;
  }
  return absl::ResourceExhaustedError(
      absl::StrCat(options_.folder, ": cannot ", what, ": ", why));
}

absl::StatusOr<std::unique_ptr<CacheDir::Writer>> CacheDir::StartWriting(
    int64_t bytes) {
  if (NowNs() < paused_until_ns_) {
    return absl::ResourceExhaustedError(
        absl::StrCat(options_.folder, ": could not be written to just now"));
  }
  RETURN_IF_ERROR(space_.MakeRoom(bytes));
  absl::StatusOr<std::string> temporary = temp_.NewPath();
  if (!temporary.ok()) return Failed("write", temporary.status().message());
  UniqueFd fd(
      open(temporary->c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd.valid()) return Failed("make a file", std::strerror(errno));
  return std::unique_ptr<Writer>(
      new Writer(this, *std::move(temporary), std::move(fd)));
}

CacheDir::Writer::~Writer() {
  if (mapped_ != nullptr) munmap(mapped_, bytes_);
  if (fd_.valid()) unlink(temporary_.c_str());
}

absl::StatusOr<char*> CacheDir::Writer::Map(int64_t bytes) {
  // Without space on the disk, writing to the memory would end the program.
  int error = posix_fallocate(fd_.get(), 0, bytes);
  if (error == EINTR) error = posix_fallocate(fd_.get(), 0, bytes);
  if (error != 0) return cache_->Failed("write an entry", std::strerror(error));
  void* const mapped =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
  if (mapped == MAP_FAILED) {
    return cache_->Failed("write an entry", std::strerror(errno));
  }
  mapped_ = static_cast<char*>(mapped);
  bytes_ = bytes;
  return mapped_;
}

absl::Status CacheDir::Writer::Commit(const std::string& key) {
  return Keep(key, {mapped_, static_cast<size_t>(bytes_)});
}

absl::Status CacheDir::Writer::Keep(const std::string& key,
                                    absl::string_view bytes) {
  const std::string blob = absl::StrFormat(
      "%s-%08x", Sha256Hex(bytes.data(), bytes.size()), Crc32c(bytes));
  // Replaces an equal blob, if there is one: if that was bad, it is good now.
  const int error = RenameInto(temporary_, cache_->BlobPath(blob));
  if (error != 0) return cache_->Failed("keep an entry", std::strerror(error));
  fd_.Reset();
  return cache_->PutName(HashOf(key), blob);
}

absl::Status CacheDir::PutName(const std::string& hash,
                               const std::string& blob) {
  ASSIGN_OR_RETURN(const std::string temporary, temp_.NewPath());
  const std::string target =
      absl::StrCat("../../blobs/", blob.substr(0, 2), "/", blob);
  if (symlink(target.c_str(), temporary.c_str()) != 0) {
    return Failed("name an entry", std::strerror(errno));
  }
  const int error = RenameInto(temporary, NamePath(hash));
  if (error != 0) {
    unlink(temporary.c_str());
    return Failed("name an entry", std::strerror(error));
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  known_[hash] = {blob, NowNs()};
  return absl::OkStatus();
}

absl::Status CacheDir::Insert(const std::string& key, absl::string_view bytes) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Writer> writer,
                   StartWriting(static_cast<int64_t>(bytes.size())));
  if (!WriteAll(writer->fd_.get(), bytes, writer->temporary_).ok()) {
    return Failed("write an entry", std::strerror(errno));
  }
  return writer->Keep(key, bytes);
}

absl::StatusOr<std::string> CacheDir::MakeOwnFolder() {
  ASSIGN_OR_RETURN(std::string folder, temp_.NewPath());
  if (mkdir(folder.c_str(), 0700) == 0) return folder;
  return Failed("make a folder", std::strerror(errno));
}

absl::Status CacheDir::Link(const Entry& entry, const std::string& path) {
  if (link(BlobPath(entry.blob).c_str(), path.c_str()) == 0) {
    return absl::OkStatus();
  }
  return Failed("link an entry", std::strerror(errno));
}

void CacheDir::CountLookup(bool hit, int64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++(hit ? counts_.hits : counts_.misses);
  (hit ? counts_.hit_bytes : counts_.miss_bytes) += bytes;
}

CacheCounts CacheDir::counts() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  CacheCounts counts = counts_;
  counts.evictions = space_.evictions();
  return counts;
}

}  // namespace feedrate
