// Memory for large shared maps, in large pages where that is cheaper.
#ifndef FEEDRATE_LIB_MEDIA_PAGE_POPULATOR_H_
#define FEEDRATE_LIB_MEDIA_PAGE_POPULATOR_H_

#include <atomic>
#include <cstdint>

namespace feedrate {

// Getting a gigabyte from the kernel page by page takes half a second in a
// virtual machine, a tenth of the time it takes to decode the images that fill
// it. In pages of 2 MB it is ten times as fast, unless memory is fragmented and
// the kernel must first move other pages together. So both are timed, and large
// pages are given up where they do not pay. Thread-safe.
class PagePopulator {
 public:
  static constexpr int64_t kChunk = int64_t{2} << 20;

  // Gets memory for the chunks that begin in [begin, end) of the map that
  // begins at `map`, a multiple of kChunk, and has `size` bytes. What cannot be
  // done beforehand is left to the first write.
  void Populate(char* map, int64_t size, int64_t begin, int64_t end);

 private:
  void PopulateChunk(char* chunk);

  std::atomic<bool> given_up_{false};
  std::atomic<int64_t> small_ns_{0};  // CPU time for one chunk in small pages.
  std::atomic<int64_t> large_ns_{0};  // For all chunks in large pages.
  std::atomic<int64_t> large_chunks_{0};
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_PAGE_POPULATOR_H_
