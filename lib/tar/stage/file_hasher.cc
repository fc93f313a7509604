#include "lib/tar/stage/file_hasher.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

namespace feedrate::tar {
namespace {

// How far one may be ahead of the other: far less than the page cache of any
// machine that trains, far more than either needs to run smoothly.
constexpr uint64_t kLead = 128 << 20;

// Stays in the second-level cache between the copy and the hash.
constexpr size_t kBufferBytes = 256 << 10;

}  // namespace

FileHasher::FileHasher(int fd, uint64_t size, std::string name,
                       std::unique_ptr<Checksum> checksum)
    : fd_(fd),
      size_(size),
      name_(std::move(name)),
      checksum_(std::move(checksum)) {
  sigset_t all, old;  // Signals are the main thread's business.
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
    checksum_->Update(buffer, got);
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
  *digest = checksum_->Finish();
  return Status();
}

Status HashedFileInput::Read(char* buffer, size_t count, size_t* got) {
  hasher_->Pace(offset());
  return FileInput::Read(buffer, count, got);
}

}  // namespace feedrate::tar
