#include "lib/tar/extract/writer_pool.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

#include "lib/tar/error.h"

namespace feedrate::tar {
namespace {

// Large enough that a system call's fixed cost is small, small enough that what
// was just read is still in the second-level cache when it is written.
constexpr size_t kBufferBytes = 256 << 10;

// Batches that wait. More would only let the reader run further ahead.
constexpr size_t kMaxQueue = 64;

}  // namespace

PartialFile::~PartialFile() {
  if (fd >= 0) close(fd);
}

WriterPool::WriterPool(int threads, std::string source_name, FinishLine* line)
    : source_name_(std::move(source_name)), line_(line) {
  // Signals are the main thread's business.
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
  line_->Freeze();
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

// Opened here and not by the walker: on a network file system an open is a
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
