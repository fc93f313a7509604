#include "lib/staging/archive_stream.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "lib/hash/sha256.h"

namespace feedrate::tar {

namespace {

// How far the hash and the extraction may be apart: far less than the page
// cache of any training machine, far more than either needs to run smoothly.
constexpr uint64_t kLead = 128 << 20;

// Stays in the second-level cache between the copy and the hash.
constexpr size_t kBufferBytes = 256 << 10;

std::string FinishHex(Sha256* hash) {
  char hex[Sha256::kHexSize + 1];
  hash->FinishHex(hex);
  return hex;
}

constexpr size_t kMagicBytes = 6;

struct Format {
  std::string_view magic;
  const char* name;
};

// What people pack archives with, besides gzip and zstd.
constexpr Format kOtherFormats[] = {
    {"BZh", "bzip2"},
    {{"\xfd\x37zXZ\0", 6}, "xz"},
    {"PK\x03\x04", "zip"},
    {"\x1f\x9d", "compress (.Z)"},
    {"\x04\x22\x4d\x18", "lz4"},
    {"\x02\x21\x4c\x18", "lz4"},
    {"LZIP\x01", "lzip"},
    {{"\x89LZO\0", 5}, "lzop"},
    {"7z\xbc\xaf\x27\x1c", "7z"},
};

// lzma has no magic number: the usual properties, and a dictionary of whole
// 64 KiB. A plain archive whose first file is "]" has only zeros there.
bool IsLzma(std::string_view head) {
  return head.size() >= 5 &&
         head.substr(0, 3) == std::string_view("]\0\0", 3) &&
         (head[3] != 0 || head[4] != 0);
}

// A frame of zstd, or one that it skips, with which pzstd begins its files.
bool IsZstd(std::string_view head) {
  if (head.size() < 4) return false;
  return head.substr(0, 4) == "\x28\xb5\x2f\xfd" ||
         ((head[0] & 0xf0) == 0x50 && head.substr(1, 3) == "*M\x18");
}

// The program that unpacks data that starts with `head`; empty for a plain
// archive. Known formats that are not supported are named instead of being
// reported as a bad archive.
Status PackerOf(std::string_view head, const std::string& name,
                std::string* packer) {
  const auto begins = [head](std::string_view magic) {
    return head.substr(0, magic.size()) == magic;
  };
  packer->clear();
  if (begins("\x1f\x8b")) *packer = "gzip";
  if (IsZstd(head)) *packer = "zstd";
  const char* other = IsLzma(head) ? "lzma" : nullptr;
  for (const Format& format : kOtherFormats) {
    if (begins(format.magic)) other = format.name;
  }
  if (other == nullptr) return Status();
  return Failed(name + ": this is " + other +
                "; want a plain tar, .tar.gz or .tar.zst");
}

std::vector<std::string> UnpackCommand(const std::string& packer) {
  return {packer, "-d", "-c", "-q"};
}

}  // namespace

// Hashes a file in its own thread while others read it. Hash and extraction
// stay close together, so that a file larger than memory is read from disk only
// once.
class FileHasher {
 public:
  // Does not own `fd`. Starts immediately.
  FileHasher(int fd, uint64_t size, std::string name);
  ~FileHasher();
  FileHasher(const FileHasher&) = delete;
  FileHasher& operator=(const FileHasher&) = delete;

  // The reader has reached `offset`. Waits if that is far ahead of the hash.
  void Pace(uint64_t offset);

  // Waits for the end and returns the digest.
  Status Finish(std::string* digest);

 private:
  void Run();

  const int fd_;
  const uint64_t size_;
  const std::string name_;
  std::mutex mutex_;
  std::condition_variable moved_;
  uint64_t reader_ = 0;
  uint64_t hashed_ = 0;
  bool stop_ = false;
  Sha256 hash_;
  Status status_;
  std::thread thread_;
};

// A file that is hashed while it is read.
class HashedFileInput : public FileInput {
 public:
  HashedFileInput(int fd, uint64_t size, std::string name, FileHasher* hasher)
      : FileInput(fd, size, std::move(name)), hasher_(hasher) {}

  Status Read(char* buffer, size_t count, size_t* got) override;

 private:
  FileHasher* const hasher_;
};

// What a client program writes. Fails when it brings less than a kilobyte per
// second for as long as the source's limit; only waiting counts, so a slow disk
// does not count against the server.
class ClientInput : public StreamInput {
 public:
  ClientInput(int fd, std::string name, int timeout_s)
      : StreamInput(fd, name),
        fd_(fd),
        name_(std::move(name)),
        timeout_s_(timeout_s) {}

  Status Read(char* buffer, size_t count, size_t* got) override {
    if (timeout_s_ > 0 && !WaitForInput(fd_, &left_ms_)) {
      return Failed(name_ + ": " + std::to_string(bytes_) + " bytes came in " +
                    std::to_string(timeout_s_) +
                    " s; run again to go on, or allow more with --timeout");
    }
    TAR_RETURN_IF_ERROR(StreamInput::Read(buffer, count, got));
    bytes_ += *got;
    if (bytes_ >= kSlowest * timeout_s_) {
      bytes_ = 0;
      left_ms_ = int64_t{timeout_s_} * 1000;
    }
    return Status();
  }

 private:
  static constexpr uint64_t kSlowest = 1000;  // Bytes per second.

  const int fd_;
  const std::string name_;
  const int timeout_s_;
  uint64_t bytes_ = 0;
  int64_t left_ms_ = int64_t{timeout_s_} * 1000;
};

// The source's own bytes, counted and hashed as they are read.
class MeteredInput : public Input {
 public:
  MeteredInput(std::unique_ptr<Input> from, bool hash,
               std::atomic<uint64_t>* bytes);

  // Reads the first bytes and keeps them for Read(). They show how the archive
  // is compressed.
  Status Peek(std::string* head);

  Status Read(char* buffer, size_t count, size_t* got) override;

  // REQUIRES: `hash`.
  std::string Digest() { return FinishHex(&*hash_); }

 private:
  const std::unique_ptr<Input> from_;
  std::optional<Sha256> hash_;
  std::atomic<uint64_t>* const bytes_;
  std::string head_;
};

FileHasher::FileHasher(int fd, uint64_t size, std::string name)
    : fd_(fd), size_(size), name_(std::move(name)) {
  sigset_t all, old;  // Signals are handled by the main thread.
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  thread_ = std::thread([this] { Run(); });
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
}

FileHasher::~FileHasher() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  moved_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void FileHasher::Run() {
  char* buffer = static_cast<char*>(malloc(kBufferBytes));
  uint64_t offset = 0;
  while (offset < size_) {
    const size_t want = std::min<uint64_t>(kBufferBytes, size_ - offset);
    const ssize_t got = pread(fd_, buffer, want, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      const Status failure =
          got < 0 ? SystemFailure("cannot read", name_, errno)
                  : Failed(name_ + " became shorter while it was read");
      std::lock_guard<std::mutex> lock(mutex_);
      status_ = failure;
      stop_ = true;
      break;
    }
    hash_.Update(buffer, got);
    offset += got;
    std::unique_lock<std::mutex> lock(mutex_);
    hashed_ = offset;
    moved_.notify_all();
    moved_.wait(lock, [this] { return stop_ || hashed_ < reader_ + kLead; });
    if (stop_) break;
  }
  moved_.notify_all();
  free(buffer);
}

void FileHasher::Pace(uint64_t offset) {
  std::unique_lock<std::mutex> lock(mutex_);
  reader_ = offset;
  moved_.notify_all();
  moved_.wait(lock, [this] { return stop_ || reader_ < hashed_ + kLead; });
}

Status FileHasher::Finish(std::string* digest) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    reader_ = size_;
  }
  moved_.notify_all();
  thread_.join();
  if (!status_.ok()) return status_;
  *digest = FinishHex(&hash_);
  return Status();
}

Status HashedFileInput::Read(char* buffer, size_t count, size_t* got) {
  hasher_->Pace(offset());
  return FileInput::Read(buffer, count, got);
}

MeteredInput::MeteredInput(std::unique_ptr<Input> from, bool hash,
                           std::atomic<uint64_t>* bytes)
    : from_(std::move(from)), bytes_(bytes) {
  if (hash) hash_.emplace();
}

Status MeteredInput::Peek(std::string* head) {
  while (head_.size() < kMagicBytes) {
    char buffer[kMagicBytes];
    size_t got = 0;
    TAR_RETURN_IF_ERROR(from_->Read(buffer, kMagicBytes - head_.size(), &got));
    if (got == 0) break;
    head_.append(buffer, got);
  }
  *head = head_;
  return Status();
}

Status MeteredInput::Read(char* buffer, size_t count, size_t* got) {
  if (!head_.empty()) {
    *got = std::min(count, head_.size());
    memcpy(buffer, head_.data(), *got);
    head_.erase(0, *got);
  } else {
    TAR_RETURN_IF_ERROR(from_->Read(buffer, count, got));
  }
  if (hash_.has_value()) hash_->Update(buffer, *got);
  *bytes_ += *got;
  return Status();
}

// Copies the compressed bytes to the program that unpacks them. Its thread may
// hang in a read from a silent source; it is then abandoned, so everything it
// uses is owned here.
struct ArchiveStream::Pump {
  std::shared_ptr<MeteredInput> from;
  int to = -1;
  std::mutex mutex;
  std::condition_variable ended;
  bool done = false;
  Status status;

  static void Run(const std::shared_ptr<Pump>& pump) {
    std::vector<char> buffer(256 << 10);
    Status status;
    for (bool more = true; more;) {
      size_t got = 0;
      status = pump->from->Read(buffer.data(), buffer.size(), &got);
      more = status.ok() && got > 0 && pump->Write(buffer.data(), got);
    }
    {
      // Before the unpacker sees the end.
      std::lock_guard<std::mutex> lock(pump->mutex);
      pump->status = status;
    }
    close(pump->to);
    std::lock_guard<std::mutex> lock(pump->mutex);
    pump->done = true;
    pump->ended.notify_all();
  }

  // Returns false when the other side is gone; it reports the reason itself.
  bool Write(const char* data, size_t count) {
    while (count > 0) {
      const ssize_t written = write(to, data, count);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return false;
      data += written;
      count -= written;
    }
    return true;
  }
};

ArchiveStream::ArchiveStream() = default;
ArchiveStream::~ArchiveStream() = default;

Status ArchiveStream::Open(const Source& source, bool hash,
                           std::atomic<uint64_t>* bytes) {
  hash_ = hash;
  int fd = source.fd();
  if (source.kind() == Source::Kind::kRemote) {
    url_ = source.url();
    TAR_RETURN_IF_ERROR(client_.Start(FetchCommand(url_, source.remote()), -1));
    fd = client_.output();
  }
  std::string head;
  std::string packer;
  if (source.kind() == Source::Kind::kFile) {
    char magic[kMagicBytes];
    const ssize_t got = pread(fd, magic, sizeof(magic), 0);
    if (got < 0) return SystemFailure("cannot read", source.name(), errno);
    TAR_RETURN_IF_ERROR(
        PackerOf({magic, static_cast<size_t>(got)}, source.name(), &packer));
    if (packer.empty()) {
      OpenFile(source);
      return Status();
    }
  }
  // A file is read by offset: its descriptor may be read twice.
  std::unique_ptr<Input> from;
  if (source.kind() == Source::Kind::kFile) {
    from = std::make_unique<FileInput>(fd, source.size().value_or(0),
                                       source.name());
  } else if (source.kind() == Source::Kind::kRemote) {
    from = std::make_unique<ClientInput>(fd, source.name(), source.timeout_s());
  } else {
    from = std::make_unique<StreamInput>(fd, source.name());
  }
  metered_ = std::make_shared<MeteredInput>(std::move(from), hash, bytes);
  if (source.kind() != Source::Kind::kFile) {
    TAR_RETURN_IF_ERROR(metered_->Peek(&head));
    TAR_RETURN_IF_ERROR(PackerOf(head, source.name(), &packer));
  }
  if (!packer.empty()) return StartUnpacking(packer);
  input_ = metered_;
  return Status();
}

void ArchiveStream::OpenFile(const Source& source) {
  const uint64_t size = source.size().value_or(0);
  if (!hash_) {
    input_ = std::make_shared<FileInput>(source.fd(), size, source.name());
    return;
  }
  hasher_ = std::make_unique<FileHasher>(source.fd(), size, source.name());
  input_ = std::make_shared<HashedFileInput>(source.fd(), size, source.name(),
                                             hasher_.get());
}

Status ArchiveStream::StartUnpacking(const std::string& packer) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return SystemFailure("cannot start", packer, errno);
  }
  Status started = unpacker_.Start(UnpackCommand(packer), ends[0]);
  close(ends[0]);
  if (!started.ok()) {
    close(ends[1]);
    return started;
  }
  pump_ = std::make_shared<Pump>();
  pump_->from = metered_;
  pump_->to = ends[1];
  sigset_t all, old;  // Signals are handled by the main thread.
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  std::thread(&Pump::Run, pump_).detach();
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  input_ = std::make_shared<StreamInput>(unpacker_.output(), packer);
  return Status();
}

Status ArchiveStream::Explain(const Status& failure) {
  if (pump_ != nullptr) {
    std::lock_guard<std::mutex> lock(pump_->mutex);
    if (!pump_->status.ok()) return pump_->status;
  }
  for (Subprocess* program : {&client_, &unpacker_}) {
    Status reason = program->FailureSoFar();
    if (!reason.ok()) return Hidden(reason, url_);
  }
  return failure;
}

Status ArchiveStream::Finish(std::string* digest) {
  if (pump_ != nullptr) {
    // The unpacker first: if it fails, the pump's result means nothing.
    TAR_RETURN_IF_ERROR(unpacker_.Wait());
    std::unique_lock<std::mutex> lock(pump_->mutex);
    pump_->ended.wait(lock, [this] { return pump_->done; });
    if (!pump_->status.ok()) return pump_->status;
  }
  if (client_.output() >= 0) {
    TAR_RETURN_IF_ERROR(Hidden(client_.Wait(), url_));
  }
  if (!hash_) return Status();
  if (hasher_ != nullptr) return hasher_->Finish(digest);
  *digest = metered_->Digest();
  return Status();
}

}  // namespace feedrate::tar
