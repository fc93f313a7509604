// What an engine must know of a JPEG before it gets it.
#ifndef FEEDRATE_LIB_LOADER_CUDA_JPEG_HEAD_H_
#define FEEDRATE_LIB_LOADER_CUDA_JPEG_HEAD_H_

#include <optional>

#include "absl/strings/string_view.h"

namespace feedrate {

struct JpegHead {
  int height = 0;
  int width = 0;
  int components = 0;
  // Sequential Huffman codes of 8 bits: what hardware decodes.
  bool baseline = false;
  // Samples of the first component for each of the second, across and down.
  int across = 1;
  int down = 1;
};

// Absent where no frame header is found: cut off, or no JPEG.
std::optional<JpegHead> ReadJpegHead(absl::string_view bytes);

// Whether nvJPEG's engine takes it: baseline, grey or colour, not sampled as
// 4:1:1 or 4:1:0.
bool EngineDecodes(const JpegHead& head);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_CUDA_JPEG_HEAD_H_
