// A corpus: decoded inputs in shared memory, made once, then mapped by every
// worker without a copy.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/media/image.h"

namespace feedrate {

// The format, for workers in every language. Numbers are little-endian. A
// header of 64 bytes, the items, and an index with one entry per item:
//
//   0            CorpusHeader
//   data_offset  items, each at a multiple of 64
//   index_offset CorpusItem[count]
//
// Readers go by the offsets: the index may stand before or after the items.

enum class DType : uint32_t { kUint8 = 0, kFloat16 = 1, kFloat32 = 2 };
enum class Layout : uint32_t { kHwc = 0, kChw = 1 };

inline constexpr char kCorpusMagic[8] = {'F', 'R', 'C', 'O',
                                         'R', 'P', 'U', 'S'};
inline constexpr uint32_t kCorpusVersion = 1;
// A cache line, and the widest vector of today's processors.
inline constexpr uint64_t kCorpusAlignment = 64;

struct CorpusHeader {
  char magic[8];
  uint32_t version;
  uint32_t dtype;   // DType.
  uint32_t layout;  // Layout.
  uint32_t reserved;
  uint64_t count;
  uint64_t index_offset;
  uint64_t data_offset;
  uint64_t file_bytes;
  uint64_t zero;
};
static_assert(sizeof(CorpusHeader) == 64);

// `bytes` is the product of the four sizes and the size of one value. With
// layout CHW a frame is channels, height, width; the fields mean the same.
struct CorpusItem {
  int64_t offset;  // From the beginning of the file.
  int64_t bytes;
  int64_t frames;  // 1 for images.
  int64_t height;
  int64_t width;
  int64_t channels;
};
static_assert(sizeof(CorpusItem) == 48);

// Bytes per value. 0 when `dtype` is none of the above.
constexpr int64_t BytesOf(DType dtype) {
  return dtype == DType::kUint8     ? 1
         : dtype == DType::kFloat16 ? 2
         : dtype == DType::kFloat32 ? 4
                                    : 0;
}

// What is wrong with a file of `size` bytes at `data`, as text to append to the
// file's name, or null when a reader may use every offset and size in it.
// Checks only the header and the index. `data` must be aligned to 8 bytes.
const char* FindCorpusFault(const void* data, uint64_t size);

// One input. With layout CHW the sizes mean the same.
struct ItemView {
  const void* data = nullptr;
  int64_t bytes = 0;
  int frames = 0;  // 1 for images.
  int height = 0;
  int width = 0;
  int channels = 0;
};

// Reads a corpus in place. It never changes: the file is sealed, and a write
// through the map ends the process. Thread-safe.
class Corpus {
 public:
  // Maps the sealed memory file behind `fd` and checks every size and offset in
  // it. Takes over `fd`, even on failure.
  static absl::StatusOr<Corpus> Map(int fd);

  Corpus(Corpus&& other) noexcept;
  Corpus& operator=(Corpus&& other) noexcept;
  ~Corpus();

  // Makes the kernel enter every page of the map into this process's tables now
  // (0.1 µs per page), so that no timed call has to. Before Linux 5.14 the
  // first access does it, as usual.
  void Populate() const;

  // To hand to a worker. Owned by this; closed on exec.
  int fd() const { return fd_; }
  // Size of the whole file: the memory that it takes.
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

// Gets memory for large shared maps, in large pages where that is cheaper.
// Getting a gigabyte from the kernel page by page takes half a second in a
// virtual machine, a tenth of the time it takes to decode the images that fill
// it. In pages of 2 MB it is ten times as fast, unless memory is fragmented and
// the kernel must first move other pages together. So this times both, and
// gives up large pages where they do not pay. Thread-safe.
class PagePopulator {
 public:
  static constexpr int64_t kChunk = int64_t{2} << 20;

  // Gets memory for the chunks that begin in [begin, end) of the map that
  // begins at `map`, a multiple of kChunk, and has `size` bytes. Where this
  // fails, the first write gets the memory.
  void Populate(char* map, int64_t size, int64_t begin, int64_t end);

 private:
  void PopulateChunk(char* chunk);

  std::atomic<bool> given_up_{false};
  std::atomic<int64_t> small_ns_{0};  // CPU time for one chunk in small pages.
  std::atomic<int64_t> large_ns_{0};  // For all chunks in large pages.
  std::atomic<int64_t> large_chunks_{0};
};

struct ItemSize {
  int64_t frames = 1;
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;
};

// Bytes that an item of this size takes in a corpus, including its index entry
// and the gap after it. -1 when the size is invalid.
int64_t CorpusBytesOf(const ItemSize& size, DType dtype);

// Makes a corpus: first the room, then the items on any thread, then the seal.
//
//   ASSIGN_OR_RETURN(CorpusWriter writer, CorpusWriter::Create(dtype, layout));
//   RETURN_IF_ERROR(writer.AddRoom(sizes));
//   decode item i into writer.data(i), on as many threads as you like
//   ASSIGN_OR_RETURN(Corpus corpus, std::move(writer).Finish());
class CorpusWriter {
 public:
  static absl::StatusOr<CorpusWriter> Create(DType dtype, Layout layout);
  CorpusWriter(CorpusWriter&& other) noexcept;
  CorpusWriter& operator=(CorpusWriter&&) = delete;
  ~CorpusWriter();

  // Adds items after the existing ones, filled with zeros. Invalidates
  // addresses from data().
  absl::Status AddRoom(const std::vector<ItemSize>& sizes);

  int64_t size() const { return static_cast<int64_t>(items_.size()); }
  // Where to write item i. Different items may be written concurrently.
  void* data(int64_t i) { return map_ + items_[i].offset; }
  const CorpusItem& item(int64_t i) const { return items_[i]; }
  // Gets memory for item i ahead of writing it, which is faster than at each
  // page's first write. Call it in the thread that is about to write the item.
  void Populate(int64_t i);

  // Writes item i through the file, without page faults: faster than through
  // data() for values that are still in the cache. Different items may be
  // written concurrently. REQUIRES: `values` has as many bytes as the item.
  absl::Status Write(int64_t i, const void* values);

  // Removes the items for which `keep` is false and frees their memory.
  // REQUIRES: one value per item.
  void Keep(const std::vector<bool>& keep);

  // Writes the header and the index, and seals the file.
  absl::StatusOr<Corpus> Finish() &&;

 private:
  CorpusWriter(int fd, DType dtype, Layout layout);
  absl::Status Grow(int64_t bytes);
  void Unmap();

  int fd_;
  DType dtype_;
  Layout layout_;
  char* map_ = nullptr;
  int64_t mapped_bytes_ = 0;
  int64_t end_ = sizeof(CorpusHeader);  // Where the last item ends, aligned.
  std::vector<CorpusItem> items_;
  std::unique_ptr<PagePopulator> populator_;
};

// Memory reserved for everything else: workers, encoded files, page tables.
inline constexpr int64_t kSpareMemory = int64_t{64} << 20;

// Memory that is available according to the kernel; practically unlimited where
// it does not say.
int64_t MemoryToUse();

// ResourceExhausted when items of these sizes do not fit into `available` bytes
// minus kSpareMemory. The message begins with `what` and names the largest
// num_items that fits. Call it before decoding.
absl::Status CheckFitsMemory(absl::string_view what,
                             const std::vector<int64_t>& item_bytes,
                             int64_t available);

}  // namespace feedrate
