#include "lib/storage/cache/cache_dir.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/storage/crc32c.h"

namespace feedrate {
namespace {

namespace fs = std::filesystem;

constexpr char kTag[] = "CACHEDIR.TAG";
// The first line is the one that backup programs look for.
constexpr char kTagText[] =
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# A cache of feedrate, version 1. It may be deleted at any time.\n";

// Forgets everything beyond: memory of a process is not for the cache's index.
constexpr size_t kMostKnown = 1 << 20;

constexpr int64_t kPiece = 1 << 20;

// Two changes within this time may leave the same time of change.
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

// Of the key: neither its length nor its characters matter.
std::string HashOf(const std::string& key) {
  return Sha256Hex(key).substr(0, 40);
}

bool ParseBlob(const std::string& blob, uint32_t* crc32c) {
  constexpr size_t kSha = Sha256::kHexSize;
  return blob.size() == kSha + 9 && blob[kSha] == '-' &&
         absl::SimpleHexAtoi(absl::string_view(blob).substr(kSha + 1), crc32c);
}

bool WriteAll(int fd, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(count);
  }
  return true;
}

// Of all bytes that can be read.
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

// rename, making the folder of the target when that is what is missing.
int RenameInto(const std::string& from, const std::string& to) {
  if (rename(from.c_str(), to.c_str()) == 0) return 0;
  if (errno != ENOENT) return errno;
  if (mkdir(ParentFolder(to).c_str(), 0777) != 0 && errno != EEXIST) {
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
  RETURN_IF_ERROR(MakeFolder(folder));
  const std::string tag = JoinPath(folder, kTag);
  if (!IsFile(tag)) {
    std::error_code error;
    // A cache whose first process was killed has no more than these.
    for (fs::directory_iterator file(folder, error), end; !error && file != end;
         file.increment(error)) {
      const std::string name = file->path().filename().string();
      if (name == "blobs" || name == "names" || name == "tmp" ||
          name == "bytes" || absl::StartsWith(name, kTag)) {
        continue;
      }
      return absl::InvalidArgumentError(absl::StrCat(
          folder, ": holds ", name, " and is no cache; name an empty folder"));
    }
  }
  for (const char* part : {"blobs", "names", "tmp"}) {
    RETURN_IF_ERROR(MakeFolder(JoinPath(folder, part)));
  }
  // Without, on a full disk, it is a cache all the same.
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
  // Time of access alone: that of change tells whether bytes are the same.
  const timespec times[2] = {{0, UTIME_NOW}, {0, UTIME_OMIT}};
  utimensat(AT_FDCWD, BlobPath(blob).c_str(), times, 0);
}

std::optional<CacheDir::Entry> CacheDir::Find(const std::string& key) {
  const std::string hash = HashOf(key);
  // A second look when what this process knew is not so any more.
  for (int tries = 0; tries < 2; ++tries) {
    const std::optional<std::string> blob = BlobOf(hash);
    Entry entry;
    if (!blob.has_value() || !ParseBlob(*blob, &entry.crc32c)) {
      return std::nullopt;
    }
    entry.blob = *blob;
    entry.fd.Reset(open(BlobPath(*blob).c_str(), O_RDONLY | O_CLOEXEC));
    struct stat info;
    if (entry.fd.valid() && fstat(entry.fd.get(), &info) == 0) {
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
      open(temporary->c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!fd.valid()) return Failed("make a file", std::strerror(errno));
  return std::unique_ptr<Writer>(
      new Writer(this, *std::move(temporary), std::move(fd)));
}

CacheDir::Writer::~Writer() {
  if (fd_.valid()) unlink(temporary_.c_str());
}

absl::Status CacheDir::Writer::Append(absl::string_view bytes) {
  sha256_.Update(bytes.data(), bytes.size());
  crc32c_ = Crc32c(bytes, crc32c_);
  bytes_ += static_cast<int64_t>(bytes.size());
  if (WriteAll(fd_.get(), bytes)) return absl::OkStatus();
  return cache_->Failed("write an entry", std::strerror(errno));
}

absl::Status CacheDir::Writer::Commit(const std::string& key) {
  char hex[Sha256::kHexSize + 1];
  sha256_.FinishHex(hex);
  const std::string blob =
      absl::StrFormat("%s-%08x", std::string(hex), crc32c_);
  // Over an equal one, if there is one: should that be bad, it is good now.
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
  RETURN_IF_ERROR(writer->Append(bytes));
  return writer->Commit(key);
}

absl::StatusOr<std::string> CacheDir::MakeOwnFolder() {
  ASSIGN_OR_RETURN(std::string folder, temp_.NewPath());
  if (mkdir(folder.c_str(), 0777) == 0) return folder;
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
