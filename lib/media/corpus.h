// Decoded inputs in shared memory: made once, then mapped by every worker
// without a copy. The format is in corpus_format.h.
#ifndef FEEDRATE_LIB_MEDIA_CORPUS_H_
#define FEEDRATE_LIB_MEDIA_CORPUS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "lib/media/corpus_format.h"
#include "lib/media/image.h"

namespace feedrate {

// One input. With layout CHW the sizes mean the same.
struct ItemView {
  const void* data = nullptr;
  int64_t bytes = 0;
  int frames = 0;  // 1 for images.
  int height = 0;
  int width = 0;
  int channels = 0;
};

// Reads a corpus in place. It never changes: the file is sealed, and who writes
// through the map dies of it. Thread-safe.
class Corpus {
 public:
  // Maps the sealed memory file behind `fd` and checks every size and offset
  // in it. Takes over `fd`, also when it fails.
  static absl::StatusOr<Corpus> Map(int fd);

  Corpus(Corpus&& other) noexcept;
  Corpus& operator=(Corpus&& other) noexcept;
  ~Corpus();

  // Makes the kernel enter every page of the map into this process's tables now
  // (0.1 µs a page), so that no timed call has to. Where the kernel is too old
  // (before 5.14) the first touch does it, as ever.
  void Populate() const;

  // To hand to a worker. Owned by this; closed on exec.
  int fd() const { return fd_; }
  // Of the whole file: what it takes of the machine's memory.
  int64_t file_bytes() const { return bytes_; }

  int64_t size() const { return static_cast<int64_t>(header().count); }
  DType dtype() const { return static_cast<DType>(header().dtype); }
  Layout layout() const { return static_cast<Layout>(header().layout); }

  // REQUIRES: 0 <= i < size().
  ItemView item(int64_t i) const;
  // REQUIRES: uint8, HWC, and the item has one frame.
  ImageView image(int64_t i) const;

 private:
  Corpus(int fd, const void* data, int64_t bytes)
      : fd_(fd), data_(data), bytes_(bytes) {}
  const CorpusHeader& header() const {
    return *static_cast<const CorpusHeader*>(data_);
  }

  int fd_ = -1;
  const void* data_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_CORPUS_H_
