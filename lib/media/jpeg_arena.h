// Memory for libjpeg that outlives a picture: libjpeg asks malloc for a dozen
// blocks a picture and gives them back after it; a decoder of many pictures
// asks once. For jpeg*.cc alone.
#ifndef FEEDRATE_LIB_MEDIA_JPEG_ARENA_H_
#define FEEDRATE_LIB_MEDIA_JPEG_ARENA_H_

#include <cstddef>
#include <memory>
#include <vector>

// jpeglib.h uses FILE without including it.
// clang-format off
#include <cstdio>
#include <jpeglib.h>
// clang-format on

namespace feedrate {

// Not thread-safe; one for each decoder.
class JpegArena {
 public:
  JpegArena() = default;
  JpegArena(const JpegArena&) = delete;
  JpegArena& operator=(const JpegArena&) = delete;

  // From now on what libjpeg allocates for `cinfo` comes from here, but for the
  // coefficients of progressive files. Uses `cinfo->client_data`; the arena
  // must outlive `cinfo`. REQUIRES: jpeg_create_decompress was called, and so
  // was jpeg_mem_src, whose memory must survive Reset.
  void Serve(jpeg_decompress_struct* cinfo);

  // Forgets the last picture's allocations and tables, so that none of them can
  // serve a file that lacks its own. REQUIRES: jpeg_abort_decompress was
  // called, or no picture begun.
  void Reset(jpeg_decompress_struct* cinfo);

  // Null when there is no memory. Aligned for any vector instruction.
  void* Allocate(size_t bytes);

  // How often memory was asked for, to see that it stops growing.
  int blocks_made() const { return blocks_made_; }

 private:
  struct Block {
    std::unique_ptr<char[]> memory;
    size_t size = 0;
  };
  bool AddBlock(size_t bytes);

  std::vector<Block> blocks_;
  size_t used_ = 0;  // Of the last block.
  int blocks_made_ = 0;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_JPEG_ARENA_H_
