// Unpacks an archive into a folder.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "lib/tar/extract/placer.h"
#include "lib/tar/extract/writer_pool.h"
#include "lib/tar/status.h"

namespace feedrate::tar {

// Where the bytes of an archive come from.
class Input {
 public:
  virtual ~Input() = default;

  // Reads at least one byte, unless there are no more.
  virtual Status Read(char* buffer, size_t count, size_t* got) = 0;

  // Descriptor and size of a file that can be read at any offset; -1 for a
  // stream. With random access, the writers read the bodies themselves.
  virtual int random_access_fd() const { return -1; }
  virtual uint64_t size() const { return 0; }

  // Skips bytes. REQUIRES: random access.
  virtual void Skip(uint64_t count) {}
};

// A file, read by offset; the descriptor's own position does not change.
class FileInput : public Input {
 public:
  // Does not own `fd`. `name` is for messages.
  FileInput(int fd, uint64_t size, std::string name);

  Status Read(char* buffer, size_t count, size_t* got) override;
  int random_access_fd() const override { return fd_; }
  uint64_t size() const override { return size_; }
  void Skip(uint64_t count) override { offset_ += count; }

 protected:
  uint64_t offset() const { return offset_; }

 private:
  const int fd_;
  const uint64_t size_;
  const std::string name_;
  uint64_t offset_ = 0;
};

// A pipe, socket or terminal.
class StreamInput : public Input {
 public:
  // Does not own `fd`.
  StreamInput(int fd, std::string name);

  Status Read(char* buffer, size_t count, size_t* got) override;

 private:
  const int fd_;
  const std::string name_;
};

struct UnpackOptions {
  int strip_components = 0;
  uint64_t max_bytes = std::numeric_limits<uint64_t>::max();
  int threads = 2;

  // Entries that end at or before this offset were written by an earlier run:
  // they are checked and counted, but not written again. If the name of one is
  // gone, Unpack() fails with `lost`.
  uint64_t resume_offset = 0;

  // Called as the archive is written. May be null.
  WrittenPrefixListener* listener = nullptr;
  // How much of it is written between two calls.
  TellingStep listener_step;

  // Set to the current read offset in the archive, for a progress bar. May be
  // null.
  std::atomic<uint64_t>* read_offset = nullptr;
};

struct UnpackResult {
  Counts counts;
  uint64_t archive_bytes = 0;  // Up to the end of `input`.
  uint64_t trailing_bytes =
      0;              // After the end of the archive, if not all zero.
  bool lost = false;  // What an earlier run wrote is gone: start over.
};

// Reads `input` to its end and writes into the open folder `root_fd`, never
// outside of it. `name` is the archive's, for messages. On failure some entries
// may have been written.
Status Unpack(Input* input, const std::string& name, int root_fd,
              const UnpackOptions& options, UnpackResult* result);

}  // namespace feedrate::tar
