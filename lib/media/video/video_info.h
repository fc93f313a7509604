// What a video is, before anything of it is decoded.
#ifndef FEEDRATE_LIB_MEDIA_VIDEO_VIDEO_INFO_H_
#define FEEDRATE_LIB_MEDIA_VIDEO_VIDEO_INFO_H_

#include <cstdint>
#include <string>

namespace feedrate {

struct VideoInfo {
  int height = 0;
  int width = 0;
  int64_t frames = 0;
  std::string codec;  // Such as `mpeg4` or `h264`.
};

// Of a frame as RGB.
inline int64_t FrameBytesOf(const VideoInfo& info) {
  return int64_t{3} * info.height * info.width;
}

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_VIDEO_VIDEO_INFO_H_
