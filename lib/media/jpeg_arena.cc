#include "lib/media/jpeg_arena.h"

#include <jerror.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <utility>

namespace feedrate {
namespace {

// libjpeg-turbo wants 32 and rows rounded up to twice that.
constexpr size_t kAlignment = 64;
constexpr size_t kSmallestBlock = 256 << 10;

size_t RoundUp(size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

void* AllocateFor(j_common_ptr cinfo, int pool, size_t bytes) {
  void* memory = static_cast<JpegArena*>(cinfo->client_data)->Allocate(bytes);
  if (memory == nullptr) {
    cinfo->err->msg_code = JERR_OUT_OF_MEMORY;
    cinfo->err->error_exit(cinfo);
  }
  return memory;
}

// Rows of samples or of blocks, as the originals lay them out.
template <typename Item>
Item** AllocateRows(j_common_ptr cinfo, int pool, size_t bytes_per_row,
                    JDIMENSION rows) {
  const size_t stride = RoundUp(bytes_per_row);
  auto** pointers =
      static_cast<Item**>(AllocateFor(cinfo, pool, rows * sizeof(Item*)));
  auto* memory = static_cast<char*>(AllocateFor(cinfo, pool, rows * stride));
  for (JDIMENSION y = 0; y < rows; ++y) {
    pointers[y] = reinterpret_cast<Item*>(memory + y * stride);
  }
  return pointers;
}

JSAMPARRAY AllocateSamples(j_common_ptr cinfo, int pool, JDIMENSION width,
                           JDIMENSION rows) {
  return AllocateRows<JSAMPLE>(cinfo, pool, width * sizeof(JSAMPLE), rows);
}

JBLOCKARRAY AllocateBlocks(j_common_ptr cinfo, int pool, JDIMENSION width,
                           JDIMENSION rows) {
  return AllocateRows<JBLOCK>(cinfo, pool, width * sizeof(JBLOCK), rows);
}

}  // namespace

void JpegArena::Serve(jpeg_decompress_struct* cinfo) {
  cinfo->client_data = this;
  cinfo->mem->alloc_small = AllocateFor;
  cinfo->mem->alloc_large = AllocateFor;
  cinfo->mem->alloc_sarray = AllocateSamples;
  cinfo->mem->alloc_barray = AllocateBlocks;
}

void JpegArena::Reset(jpeg_decompress_struct* cinfo) {
  std::fill_n(cinfo->quant_tbl_ptrs, NUM_QUANT_TBLS, nullptr);
  std::fill_n(cinfo->dc_huff_tbl_ptrs, NUM_HUFF_TBLS, nullptr);
  std::fill_n(cinfo->ac_huff_tbl_ptrs, NUM_HUFF_TBLS, nullptr);
  used_ = 0;
  if (blocks_.size() < 2) return;
  // One block that would have been enough.
  size_t total = 0;
  for (const Block& block : blocks_) total += block.size;
  blocks_.clear();
  AddBlock(total);  // Without memory the next Allocate says so.
}

bool JpegArena::AddBlock(size_t bytes) {
  Block block;
  block.size = std::max(bytes, kSmallestBlock);
  block.memory.reset(new (std::nothrow) char[block.size + kAlignment]);
  if (block.memory == nullptr) return false;
  blocks_.push_back(std::move(block));
  used_ = 0;
  ++blocks_made_;
  return true;
}

void* JpegArena::Allocate(size_t bytes) {
  bytes = RoundUp(bytes);
  if (blocks_.empty() || blocks_.back().size - used_ < bytes) {
    if (!AddBlock(bytes)) return nullptr;
  }
  const auto base = reinterpret_cast<uintptr_t>(blocks_.back().memory.get());
  void* memory = reinterpret_cast<void*>(RoundUp(base) + used_);
  used_ += bytes;
  return memory;
}

}  // namespace feedrate
