// What a synthetic photograph shows: hills, boxes and blobs, one before the
// other, each with a colour and a texture of its own. For synthetic*.cc alone.
#ifndef FEEDRATE_LIB_MEDIA_SYNTHETIC_SCENE_H_
#define FEEDRATE_LIB_MEDIA_SYNTHETIC_SCENE_H_

#include <cstdint>
#include <vector>

#include "lib/media/synthetic_random.h"

namespace feedrate {

// How the pixels of one thing look. Luma and chroma are in 1/16 of a grey
// level.
struct Surface {
  int luma = 0;
  int blue = 0;  // Blue and red less luma.
  int red = 0;
  int slope_x = 0;  // Change of luma over 256 pixels: light from one side.
  int slope_y = 0;
  int coarse_gain = 0;  // Of the textures, in 1/256.
  int fine_gain = 0;
};

class SyntheticScene {
 public:
  SyntheticScene(int width, int height, SyntheticRandom* random);

  const Surface& surface(uint8_t label) const { return surfaces_[label]; }
  // Writes the number of the surface that each pixel of row `y` shows.
  void PaintRow(int y, uint8_t* labels) const;

 private:
  // Covers [left[i], right[i]) in row top + i.
  struct Shape {
    int top = 0;
    std::vector<int> left;
    std::vector<int> right;
    // For hills instead: the first row covered, by column.
    std::vector<int> skyline;
  };
  void AddSurface(int light, SyntheticRandom* random);
  void AddHills(SyntheticRandom* random);
  void AddBlob(SyntheticRandom* random);
  void AddBox(SyntheticRandom* random);

  int width_;
  int height_;
  std::vector<Surface> surfaces_;  // The first is the background.
  std::vector<Shape> shapes_;      // Number i shows surface i + 1.
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_SYNTHETIC_SCENE_H_
