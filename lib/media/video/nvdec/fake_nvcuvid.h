// NVDEC's library for tests without a GPU: FFmpeg decodes on the CPU, and
// frames are NV12 in host memory. It calls back in the same way and at the same
// times as the real one is known to do.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "lib/media/video/demux.h"
#include "lib/media/video/nvdec/nvdec_engine.h"

namespace feedrate {

// At most one per process at a time. REQUIRES: nothing uses it when it is
// destroyed.
class FakeNvcuvid {
 public:
  FakeNvcuvid();
  ~FakeNvcuvid();

  const Nvcuvid& library() const { return library_; }

  // Behavior. A picture is decoded this many packets after its own; the real
  // library does either.
  int late = 1;
  // Where pictures begin in their surfaces.
  int left = 0;
  int top = 0;
  // What streams say about their colors; 2 means nothing.
  int matrix = 2;
  bool full_range = false;
  // Frames with these times are damaged.
  std::set<int64_t> damaged;
  // Frames with these times are not shown, as if they were damaged.
  std::set<int64_t> unshown;
  // Codes that calls return.
  int create_result = 0;
  int decode_result = 0;
  int map_result = 0;
  int create_parser_result = 0;
  int parse_result = 0;

  // Objects that exist now.
  int decoders = 0;
  int parsers = 0;
  int mapped = 0;
  // Counts so far.
  int created_parsers = 0;
  int ends = 0;
  int shown = 0;
  // The real parser takes times that do not ascend for decoding times, and
  // sorts them.
  bool times_rise = true;

 private:
  struct Calls;
  struct Parser;
  friend struct Parser;

  Nvcuvid library_;
  bool decoded_ = false;
  // Pictures by index, and the one that is mapped.
  std::map<int, AvPtr<AVFrame>> pictures_;
  int coded_width_ = 0;
  int coded_height_ = 0;
  std::vector<uint8_t> surface_;
};

}  // namespace feedrate
