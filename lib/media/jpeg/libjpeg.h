// libjpeg's errors and memory. For the decoders of lib/media only.
#pragma once

#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

// jpeglib.h uses FILE without including it.
// clang-format off
#include <cstdio>
#include <jpeglib.h>
// clang-format on

namespace feedrate {

// libjpeg fails by a jump and leaves a text here. `base` must come first:
// libjpeg passes its address back. Functions that call setjmp on `jump` must
// have no variable with a destructor, which a jump would not run.
struct JpegErrors {
  jpeg_error_mgr base;
  std::jmp_buf jump;
  int code;  // The last failure: a value of jerror.h.
  char text[JMSG_LENGTH_MAX];
};

// Makes `errors` jump at errors and at warnings that mean damaged data; other
// warnings are ignored. Returns the value for `cinfo.err`.
jpeg_error_mgr* PrepareJpegErrors(JpegErrors* errors);

// Makes `progress` fail files with more than a hundred scans: a file may ask
// for any number of passes over the whole image; real ones have about ten.
// Returns the value for `cinfo.progress`.
jpeg_progress_mgr* PrepareJpegProgress(jpeg_progress_mgr* progress);

// Has libjpeg write RGB, or CMYK where that is what the file stores. For use
// between jpeg_read_header and jpeg_start_decompress.
void ChooseJpegColors(jpeg_decompress_struct* cinfo);

// Converts pixels of a CMYK file as Pillow does: 255 means no ink, as in all
// files of Adobe's programs, and no color profile is applied.
void CmykToRgb(const uint8_t* cmyk, int width, uint8_t* rgb);

// Fails with `text` as libjpeg itself would.
[[noreturn]] void FailJpeg(j_common_ptr cinfo, const char* text);

// Memory for libjpeg that outlives a picture. libjpeg asks malloc for a dozen
// blocks per picture and gives them back after it; with an arena, a decoder of
// many pictures asks once. One per decoder; not thread-safe.
class JpegArena {
 public:
  JpegArena() = default;
  JpegArena(const JpegArena&) = delete;
  JpegArena& operator=(const JpegArena&) = delete;

  // From now on, memory that libjpeg allocates for `cinfo` comes from here,
  // except for the coefficients of progressive files. Uses
  // `cinfo->client_data`; the arena must outlive `cinfo`. REQUIRES:
  // jpeg_create_decompress was called, and so was jpeg_mem_src, whose memory
  // must survive Reset.
  void Serve(jpeg_decompress_struct* cinfo);

  // Drops the last picture's allocations and tables, so that none of them can
  // be used for a file that lacks its own. REQUIRES: jpeg_abort_decompress was
  // called, or no picture was begun.
  void Reset(jpeg_decompress_struct* cinfo);

  // Aligned for any vector instruction. Null when there is no memory.
  void* Allocate(size_t bytes);

  // Number of blocks requested so far, to check that it stops growing.
  int blocks_made() const { return blocks_made_; }

 private:
  struct Block {
    std::unique_ptr<char[]> memory;
    size_t size = 0;
  };
  bool AddBlock(size_t bytes);

  std::vector<Block> blocks_;
  size_t used_ = 0;  // Bytes of the last block.
  int blocks_made_ = 0;
};

}  // namespace feedrate
