// Where the bytes of an archive come from.
#ifndef FEEDRATE_LIB_TAR_EXTRACT_INPUT_H_
#define FEEDRATE_LIB_TAR_EXTRACT_INPUT_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "lib/tar/status.h"

namespace feedrate::tar {

class Input {
 public:
  virtual ~Input() = default;

  // Reads some bytes, at least one unless there are no more.
  virtual Status Read(char* buffer, size_t count, size_t* got) = 0;

  // For a file in which any byte can be read at any time: its descriptor and
  // size. Bodies are then read by the writers themselves.
  virtual int random_access_fd() const { return -1; }
  virtual uint64_t size() const { return 0; }

  // Passes over bytes. REQUIRES: random access.
  virtual void Skip(uint64_t count) {}
};

// A file, read by offset; the descriptor's own position is left alone.
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

}  // namespace feedrate::tar

#endif  // FEEDRATE_LIB_TAR_EXTRACT_INPUT_H_
