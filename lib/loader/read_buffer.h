// Memory for the bytes of one file after the other.
#ifndef FEEDRATE_LIB_LOADER_READ_BUFFER_H_
#define FEEDRATE_LIB_LOADER_READ_BUFFER_H_

#include <sys/mman.h>

#include <cstddef>
#include <memory>

namespace feedrate {

// Room that only grows, or the map of a file. Not thread-safe.
class ReadBuffer {
 public:
  ReadBuffer() = default;
  ReadBuffer(const ReadBuffer&) = delete;
  ReadBuffer& operator=(const ReadBuffer&) = delete;
  ~ReadBuffer() { Unmap(); }

  // At least `bytes` bytes, their content undefined.
  char* Reserve(size_t bytes) {
    if (bytes > capacity_) {
      // Some more, so that slowly growing files do not each ask for memory.
      capacity_ = bytes + bytes / 4;
      data_.reset(new char[capacity_]);
    }
    return data_.get();
  }

  // The first `bytes` bytes of the file, until the next call. Null when it
  // cannot be mapped.
  const char* Map(int fd, size_t bytes) {
    Unmap();
    // Populated: a fault a page would cost more than the copy that is saved.
    void* map =
        mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    if (map == MAP_FAILED) return nullptr;
    map_ = map;
    mapped_ = bytes;
    return static_cast<const char*>(map);
  }

 private:
  void Unmap() {
    if (map_ != nullptr) munmap(map_, mapped_);
    map_ = nullptr;
  }

  std::unique_ptr<char[]> data_;
  size_t capacity_ = 0;
  void* map_ = nullptr;
  size_t mapped_ = 0;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_READ_BUFFER_H_
