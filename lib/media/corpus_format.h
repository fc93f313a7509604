// How decoded inputs lie in shared memory, for every worker in every language.
//
// Needs libc alone. Numbers are little-endian. A header of 64 bytes, the items,
// and an index with one entry an item:
//
//   0            CorpusHeader
//   data_offset  items, each at a multiple of 64
//   index_offset CorpusItem[count]
//
// Readers go by the offsets: whether the index stands before or behind the
// items is the writer's business.
#ifndef FEEDRATE_LIB_MEDIA_CORPUS_FORMAT_H_
#define FEEDRATE_LIB_MEDIA_CORPUS_FORMAT_H_

#include <cstddef>
#include <cstdint>

namespace feedrate {

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

// Bytes of one value. 0 when `dtype` is none of the above.
constexpr int64_t BytesOf(DType dtype) {
  return dtype == DType::kUint8     ? 1
         : dtype == DType::kFloat16 ? 2
         : dtype == DType::kFloat32 ? 4
                                    : 0;
}

// What is wrong with a file of `size` bytes at `data`, in words that follow the
// file's name, or null when a reader may use every offset and size in it. Looks
// at the header and the index alone. `data` must be aligned to 8 bytes.
const char* FindCorpusFault(const void* data, uint64_t size);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_CORPUS_FORMAT_H_
