// What the frames of a synthetic episode show.
#ifndef FEEDRATE_LIB_LOADER_MIXTURE_SYNTHETIC_CAMERA_H_
#define FEEDRATE_LIB_LOADER_MIXTURE_SYNTHETIC_CAMERA_H_

#include <cstdint>
#include <string>

#include "lib/media/image.h"

namespace feedrate {

// A camera over a photograph that a seed draws: it moves a little from frame to
// frame, something moves faster in front of it, and the sensor has noise.
class SyntheticCamera {
 public:
  SyntheticCamera(uint64_t seed, int height, int width, int quality);

  // The pixels of a frame, and the file.
  Image Frame(int number) const;
  std::string Jpeg(int number) const;

 private:
  const Image picture_;
  const int height_;
  const int width_;
  const int quality_;
  const uint32_t grain_key_;
  int start_x_ = 0;
  int start_y_ = 0;
  int speed_x_ = 0;
  int speed_y_ = 0;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_MIXTURE_SYNTHETIC_CAMERA_H_
