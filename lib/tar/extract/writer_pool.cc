#include "lib/tar/extract/writer_pool.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

namespace feedrate::tar {

BlockPool::~BlockPool() {
  for (char* block : free_) free(block);
}

BlockRef BlockPool::TryTake() {
  char* block = nullptr;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!free_.empty()) {
      block = free_.back();  // The most recently used: likely in cache.
      free_.pop_back();
    } else if (made_ < kPoolBlocks) {
      ++made_;
      block = static_cast<char*>(malloc(kPoolBlockBytes));
    }
  }
  return block == nullptr ? nullptr : Wrap(block);
}

BlockRef BlockPool::Take() {
  for (;;) {
    if (BlockRef block = TryTake()) return block;
    std::unique_lock<std::mutex> lock(mutex_);
    given_back_.wait(lock, [this] { return !free_.empty(); });
  }
}

BlockRef BlockPool::Wrap(char* block) {
  return BlockRef(block, [this](char* bytes) { GiveBack(bytes); });
}

void BlockPool::GiveBack(char* block) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    free_.push_back(block);
  }
  given_back_.notify_one();
}

namespace {

constexpr int kFlags =
    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY;

Status WriteFailure(const FileTarget& target, int error) {
  return SystemFailure("cannot write", target.path, error);
}

// Writes all of `count` bytes, or fails.
Status WriteAll(const FileTarget& target, int fd, const char* data,
                size_t count) {
  while (count > 0) {
    const ssize_t written = write(fd, data, count);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return WriteFailure(target, errno);
    data += written;
    count -= written;
  }
  return Status();
}

}  // namespace

bool RemoveLeaf(int folder_fd, const char* leaf) {
  return unlinkat(folder_fd, leaf, 0) == 0 || errno == ENOENT;
}

Status CreateFile(const FileTarget& target, int* fd) {
  const int folder_fd = target.folder->fd();
  const uint32_t mode = target.mode & 0777;
  *fd = openat(folder_fd, target.leaf_name(), kFlags, mode);
  if (*fd < 0 && errno == EEXIST) {
    if (!RemoveLeaf(folder_fd, target.leaf_name())) {
      if (errno == EISDIR) {
        return Failed("entry " + Quote(target.path) +
                      ": a folder of that name is already there; remove it or "
                      "choose another --dest");
      }
      return SystemFailure("cannot replace", target.path, errno);
    }
    *fd = openat(folder_fd, target.leaf_name(), kFlags, mode);
  }
  if (*fd < 0) return SystemFailure("cannot create", target.path, errno);
  return Status();
}

namespace {

// Writes the pieces one after another, starting at `offset`.
Status WritePieces(const FileTarget& target, int fd, uint64_t offset,
                   const std::vector<Piece>& pieces) {
  for (const Piece& piece : pieces) {
    size_t done = 0;
    while (done < piece.size) {
      const ssize_t written = pwrite(fd, piece.data + done, piece.size - done,
                                     static_cast<off_t>(offset + done));
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return WriteFailure(target, errno);
      done += written;
    }
    offset += piece.size;
  }
  return Status();
}

// Copies target.size bytes from `source_fd`, starting at `source_offset`,
// through `buffer`. `source_name` is for messages.
Status CopyRange(const FileTarget& target, int fd, int source_fd,
                 uint64_t source_offset, const std::string& source_name,
                 char* buffer, size_t buffer_size) {
  uint64_t done = 0;
  while (done < target.size) {
    const size_t want = std::min<uint64_t>(buffer_size, target.size - done);
    const ssize_t got = pread(source_fd, buffer, want,
                              static_cast<off_t>(source_offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SystemFailure("cannot read", source_name, errno);
    if (got == 0) {
      return Failed(source_name + ": ended in the middle of " +
                    Quote(target.path) + "; it changed while it was read");
    }
    TAR_RETURN_IF_ERROR(WriteAll(target, fd, buffer, got));
    done += got;
  }
  return Status();
}

// Sets the time and closes the file. Some file systems report write errors only
// then.
Status FinishFile(const FileTarget& target, int fd) {
  struct timespec times[2] = {};
  times[0].tv_nsec = UTIME_OMIT;
  times[1].tv_sec = target.mtime.seconds;
  times[1].tv_nsec = target.mtime.nanoseconds;
  // A file system without times is not an error.
  (void)futimens(fd, times);
  if (close(fd) != 0 && errno != EINTR) return WriteFailure(target, errno);
  return Status();
}

}  // namespace

WrittenPrefix::SpanRef WrittenPrefix::Open(uint64_t end_offset,
                                           std::vector<uint64_t> names) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (uint64_t name : names) ++names_[name];
  const uint64_t index = first_index_ + pending_.size();
  pending_.push_back({end_offset, std::move(names)});
  ++open_;
  return std::make_shared<Span>(this, index);
}

bool WrittenPrefix::IsOpen(uint64_t name) {
  std::lock_guard<std::mutex> lock(mutex_);
  return names_.count(name) > 0;
}

void WrittenPrefix::WaitUntilClear() {
  std::unique_lock<std::mutex> lock(mutex_);
  clear_.wait(lock, [this] { return open_ == 0; });
}

void WrittenPrefix::Freeze() {
  std::lock_guard<std::mutex> lock(mutex_);
  frozen_ = true;
}

void WrittenPrefix::Finish(uint64_t index) {
  std::lock_guard<std::mutex> lock(mutex_);
  Pending& done = pending_[index - first_index_];
  done.finished = true;
  for (uint64_t name : done.names) {
    const auto found = names_.find(name);
    if (--found->second == 0) names_.erase(found);
  }
  while (!pending_.empty() && pending_.front().finished) {
    offset_ = pending_.front().end_offset;
    pending_.pop_front();
    ++first_index_;
    ++untold_;
  }
  const bool worthwhile = offset_ >= told_offset_ + step_.bytes ||
                          (offset_ > told_offset_ && untold_ >= step_.spans);
  // If it fails, a resumed run only has more to do.
  if (worthwhile) (void)TellLocked();
  if (--open_ == 0) clear_.notify_all();
}

bool WrittenPrefix::Tell() {
  std::lock_guard<std::mutex> lock(mutex_);
  return TellLocked();
}

bool WrittenPrefix::TellLocked() {
  if (frozen_) return false;
  if (offset_ == told_offset_) return true;
  untold_ = 0;
  if (listener_ != nullptr && !listener_->OnFinished(offset_)) return false;
  told_offset_ = offset_;
  return true;
}

namespace {

// Large enough that a system call's fixed cost is small, and small enough that
// what was just read is still in the second-level cache when it is written.
constexpr size_t kBufferBytes = 256 << 10;

// Waiting batches. More would only let the reader run further ahead.
constexpr size_t kMaxQueue = 64;

}  // namespace

PartialFile::~PartialFile() {
  if (fd >= 0) close(fd);
}

WriterPool::WriterPool(int threads, std::string source_name,
                       WrittenPrefix* written)
    : source_name_(std::move(source_name)), written_(written) {
  // Signals are handled by the main thread.
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
}

WriterPool::~WriterPool() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    closing_ = true;
  }
  added_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WriterPool::Add(WriteBatch batch) {
  {
    std::unique_lock<std::mutex> lock(mutex_);
    taken_.wait(lock, [this] { return queue_.size() < kMaxQueue || failed_; });
    queue_.push_back(std::move(batch));
  }
  added_.notify_one();
}

Status WriterPool::status() {
  if (!failed_) return Status();
  std::lock_guard<std::mutex> lock(mutex_);
  return status_;
}

void WriterPool::Fail(Status status) {
  written_->Freeze();
  std::lock_guard<std::mutex> lock(mutex_);
  if (!failed_) status_ = std::move(status);
  failed_ = true;
}

void WriterPool::Run() {
  char* buffer = static_cast<char*>(malloc(kBufferBytes));
  for (;;) {
    WriteBatch batch;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      added_.wait(lock, [this] { return !queue_.empty() || closing_; });
      if (queue_.empty()) break;
      batch = std::move(queue_.front());
      queue_.pop_front();
    }
    taken_.notify_one();
    for (const WriteJob& job : batch.jobs) {
      if (failed_) break;
      if (Status status = Do(job, buffer); !status.ok()) Fail(status);
    }
  }
  free(buffer);
}

Status WriterPool::Do(const WriteJob& job, char* buffer) {
  if (job.partial != nullptr) return DoPart(job);
  int fd = -1;
  TAR_RETURN_IF_ERROR(CreateFile(job.target, &fd));
  if (Status filled = Fill(job, fd, buffer); !filled.ok()) {
    close(fd);
    return filled;
  }
  bytes_written_ += job.target.size;
  return FinishFile(job.target, fd);
}

Status WriterPool::Fill(const WriteJob& job, int fd, char* buffer) {
  if (job.source_folder != nullptr) return FillFromFolder(job, fd, buffer);
  if (job.source_fd < 0) return WritePieces(job.target, fd, 0, job.pieces);
  return CopyRange(job.target, fd, job.source_fd, job.source_offset,
                   source_name_, buffer, kBufferBytes);
}

// Opened here and not by the tree walker: on a network file system an open is a
// round trip, and many threads can wait for many of them.
Status WriterPool::FillFromFolder(const WriteJob& job, int fd, char* buffer) {
  const std::string name = source_name_ + "/" + job.target.path;
  const int source_fd = openat(job.source_folder->fd(), job.source_leaf.c_str(),
                               O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (source_fd < 0) return SystemFailure("cannot read", name, errno);
  struct stat now;
  Status status;
  if (fstat(source_fd, &now) != 0) {
    status = SystemFailure("cannot read", name, errno);
  } else if (!S_ISREG(now.st_mode) ||
             static_cast<uint64_t>(now.st_size) != job.target.size) {
    status = Failed(Quote(name) + " changed while it was read");
  } else {
    status =
        CopyRange(job.target, fd, source_fd, 0, name, buffer, kBufferBytes);
  }
  close(source_fd);
  return status;
}

Status WriterPool::DoPart(const WriteJob& job) {
  PartialFile& file = *job.partial;
  TAR_RETURN_IF_ERROR(
      WritePieces(file.target, file.fd, job.part_offset, job.pieces));
  uint64_t count = 0;
  for (const Piece& piece : job.pieces) count += piece.size;
  bytes_written_ += count;
  if (file.left.fetch_sub(count) != count) return Status();
  return FinishFile(file.target, std::exchange(file.fd, -1));
}

}  // namespace feedrate::tar
