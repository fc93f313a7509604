#include "lib/media/corpus_format.h"

#include <climits>
#include <cstring>
#include <initializer_list>

namespace feedrate {
namespace {

// The value if all sizes are at least 1 and it fits; else -1.
int64_t BytesOfItem(const CorpusItem& item, DType dtype) {
  int64_t bytes = BytesOf(dtype);
  for (int64_t size : {item.frames, item.height, item.width, item.channels}) {
    // Readers keep sizes as int.
    if (size < 1 || size > INT_MAX) return -1;
    if (__builtin_mul_overflow(bytes, size, &bytes)) return -1;
  }
  return bytes;
}

const char* FindItemFault(const CorpusItem& item, const CorpusHeader& header,
                          uint64_t size) {
  const int64_t bytes = BytesOfItem(item, static_cast<DType>(header.dtype));
  if (bytes < 0) return "has an item with an impossible size";
  if (bytes != item.bytes) return "has an item whose size and bytes disagree";
  const uint64_t offset = static_cast<uint64_t>(item.offset);
  if (item.offset < 0 || offset % kCorpusAlignment != 0) {
    return "has an item at an odd place";
  }
  if (offset < header.data_offset || offset > size ||
      static_cast<uint64_t>(bytes) > size - offset) {
    return "has an item that is outside the file";
  }
  return nullptr;
}

const char* FindHeaderFault(const CorpusHeader& header, uint64_t size) {
  if (std::memcmp(header.magic, kCorpusMagic, sizeof(kCorpusMagic)) != 0) {
    return "is no corpus: it does not begin with FRCORPUS";
  }
  if (header.version != kCorpusVersion) {
    return "is of another version than 1; use programs of one build";
  }
  if (BytesOf(static_cast<DType>(header.dtype)) == 0) {
    return "has values of an unknown type";
  }
  if (header.layout > static_cast<uint32_t>(Layout::kChw)) {
    return "has an unknown layout";
  }
  if (header.reserved != 0 || header.zero != 0) {
    return "has fields that this version does not know";
  }
  if (header.file_bytes != size) return "is not as long as its header says";
  if (header.data_offset < sizeof(CorpusHeader) || header.data_offset > size) {
    return "has its items outside the file";
  }
  if (header.index_offset % alignof(CorpusItem) != 0 ||
      header.index_offset < sizeof(CorpusHeader) ||
      header.index_offset > size ||
      header.count > (size - header.index_offset) / sizeof(CorpusItem)) {
    return "has its index outside the file";
  }
  return nullptr;
}

}  // namespace

const char* FindCorpusFault(const void* data, uint64_t size) {
  if (size < sizeof(CorpusHeader)) return "is too short for a header";
  CorpusHeader header;
  std::memcpy(&header, data, sizeof(header));
  if (const char* fault = FindHeaderFault(header, size)) return fault;
  const auto* items = reinterpret_cast<const CorpusItem*>(
      static_cast<const char*>(data) + header.index_offset);
  for (uint64_t i = 0; i < header.count; ++i) {
    if (const char* fault = FindItemFault(items[i], header, size)) return fault;
  }
  return nullptr;
}

}  // namespace feedrate
