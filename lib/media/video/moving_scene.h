// What synthetic videos show. For synthetic_video.cc alone.
#ifndef FEEDRATE_LIB_MEDIA_VIDEO_MOVING_SCENE_H_
#define FEEDRATE_LIB_MEDIA_VIDEO_MOVING_SCENE_H_

#include <cstdint>

#include "lib/media/image.h"

namespace feedrate {

// A camera that moves over a picture, with something moving in front of it.
class MovingScene {
 public:
  MovingScene(uint64_t seed, int width, int height);

  // Luma (16 to 235) and chroma of pixel (x, y) of frame `number`.
  struct Yuv {
    uint8_t y;
    uint8_t u;
    uint8_t v;
  };
  Yuv At(int64_t number, int x, int y) const;

 private:
  const Image picture_;
  const int width_;
  const int height_;
  const uint32_t grain_key_;
  int speed_x_;
  int speed_y_;
  int thing_speed_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_VIDEO_MOVING_SCENE_H_
