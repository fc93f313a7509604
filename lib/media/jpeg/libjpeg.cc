#include "lib/media/jpeg/libjpeg.h"

#include <jerror.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace feedrate {
namespace {

constexpr int kMostScans = 100;

JpegErrors* Of(j_common_ptr cinfo) {
  return reinterpret_cast<JpegErrors*>(cinfo->err);
}

[[noreturn]] void Jump(j_common_ptr cinfo) {
  JpegErrors* errors = Of(cinfo);
  errors->code = errors->base.msg_code;
  errors->base.format_message(cinfo, errors->text);
  std::longjmp(errors->jump, 1);
}

// Whether libjpeg would invent pixels. The other warnings change no pixels:
// padding between segments, odd version numbers, profiles.
bool MeansDamage(int warning) {
  switch (warning) {
    case JWRN_ARITH_BAD_CODE:
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_JPEG_EOF:
    case JWRN_MUST_RESYNC:
    case JWRN_NOT_SEQUENTIAL:
      return true;
    default:
      return false;
  }
}

void OnMessage(j_common_ptr cinfo, int level) {
  if (level < 0 && MeansDamage(cinfo->err->msg_code)) Jump(cinfo);
}

void LimitScans(j_common_ptr cinfo) {
  if (reinterpret_cast<j_decompress_ptr>(cinfo)->input_scan_number >
      kMostScans) {
    FailJpeg(cinfo, "too many scans");
  }
}

}  // namespace

jpeg_progress_mgr* PrepareJpegProgress(jpeg_progress_mgr* progress) {
  progress->progress_monitor = LimitScans;
  return progress;
}

jpeg_error_mgr* PrepareJpegErrors(JpegErrors* errors) {
  jpeg_std_error(&errors->base);
  errors->base.error_exit = Jump;
  errors->base.emit_message = OnMessage;
  errors->code = 0;
  errors->text[0] = '\0';
  return &errors->base;
}

void ChooseJpegColors(jpeg_decompress_struct* cinfo) {
  cinfo->out_color_space = cinfo->num_components == 4 ? JCS_CMYK : JCS_RGB;
}

void CmykToRgb(const uint8_t* cmyk, int width, uint8_t* rgb) {
  for (int x = 0; x < width; ++x, cmyk += 4, rgb += 3) {
    const int light = cmyk[3];
    for (int c = 0; c < 3; ++c) {
      // Rounded ink / 255, in Pillow's way.
      const int ink = (255 - cmyk[c]) * light + 128;
      rgb[c] = static_cast<uint8_t>(light - (((ink >> 8) + ink) >> 8));
    }
  }
}

void FailJpeg(j_common_ptr cinfo, const char* text) {
  JpegErrors* errors = Of(cinfo);
  errors->code = -1;
  std::strncpy(errors->text, text, sizeof(errors->text) - 1);
  errors->text[sizeof(errors->text) - 1] = '\0';
  std::longjmp(errors->jump, 1);
}

namespace {

// libjpeg-turbo needs 32, and rows rounded up to twice that.
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

// Rows of samples or of blocks, laid out as by the original functions.
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
  // Replaces them by one block that would have been enough.
  size_t total = 0;
  for (const Block& block : blocks_) total += block.size;
  blocks_.clear();
  AddBlock(total);  // On failure the next Allocate returns null.
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
