// Hashes a file while others read it.
#ifndef FEEDRATE_LIB_TAR_STAGE_FILE_HASHER_H_
#define FEEDRATE_LIB_TAR_STAGE_FILE_HASHER_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "lib/tar/extract/input.h"
#include "lib/tar/stage/checksum.h"
#include "lib/tar/status.h"

namespace feedrate::tar {

// A thread that reads a file from end to end. Hash and extraction stay within a
// stretch of each other, so that a file larger than memory is read from disk
// once and not twice.
class FileHasher {
 public:
  // Does not own `fd`. Starts at once.
  FileHasher(int fd, uint64_t size, std::string name,
             std::unique_ptr<Checksum> checksum);
  ~FileHasher();
  FileHasher(const FileHasher&) = delete;
  FileHasher& operator=(const FileHasher&) = delete;

  // The reader has come to `offset`: waits if that is far ahead of the hash.
  void Pace(uint64_t offset);

  // Waits for the end and gives the digest.
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
  const std::unique_ptr<Checksum> checksum_;
  Status status_;
  std::thread thread_;
};

// A file that is hashed as it is read.
class HashedFileInput : public FileInput {
 public:
  HashedFileInput(int fd, uint64_t size, std::string name, FileHasher* hasher)
      : FileInput(fd, size, std::move(name)), hasher_(hasher) {}

  Status Read(char* buffer, size_t count, size_t* got) override;

 private:
  FileHasher* const hasher_;
};

}  // namespace feedrate::tar

#endif  // FEEDRATE_LIB_TAR_STAGE_FILE_HASHER_H_
