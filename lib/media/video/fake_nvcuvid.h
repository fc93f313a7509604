// NVDEC's library for tests without a GPU: FFmpeg decodes on the CPU, and
// frames are NV12 in host memory. In what it calls back and when it does what
// the real one is known to do.
#ifndef FEEDRATE_LIB_MEDIA_VIDEO_FAKE_NVCUVID_H_
#define FEEDRATE_LIB_MEDIA_VIDEO_FAKE_NVCUVID_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "lib/media/video/av.h"
#include "lib/media/video/nvcuvid.h"

namespace feedrate {

// One at a time in a process. REQUIRES: nothing uses it when it ends.
class FakeNvcuvid {
 public:
  FakeNvcuvid();
  ~FakeNvcuvid();

  const Nvcuvid& library() const { return library_; }

  // How it behaves. Pictures begin here in their surfaces.
  int left = 0;
  int top = 0;
  // Frames of these times have an error in them.
  std::set<int64_t> damaged;
  // Codes that calls come back with.
  int create_result = 0;
  int decode_result = 0;
  int map_result = 0;
  int create_parser_result = 0;
  int parse_result = 0;

  // What is there now.
  int decoders = 0;
  int parsers = 0;
  int mapped = 0;
  // What was there so far.
  int created_parsers = 0;
  int ends = 0;
  int shown = 0;
  // The real parser takes times that do not rise for those of decoding, and
  // sorts them.
  bool times_rise = true;

 private:
  struct Calls;
  struct Parser;
  friend struct Parser;

  Nvcuvid library_;
  bool decoded_ = false;
  // Pictures by their index, and one that is mapped.
  std::map<int, AvPtr<AVFrame>> pictures_;
  int coded_width_ = 0;
  int coded_height_ = 0;
  std::vector<uint8_t> surface_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_VIDEO_FAKE_NVCUVID_H_
