// Layout of image batches in device memory, and the recipe that a launch
// applies to each image. Needs no CUDA, so that drawing parameters can be
// tested without it.
#pragma once

#include <cstdint>

#include "lib/base/host_device.h"
#include "lib/ops/cuda/kernels/color_math.h"

namespace feedrate::fused {

// One 8-bit image, interleaved RGB. A batch of different sizes is an array of
// these in device memory. Kernels read whole aligned words, so memory must be
// readable from the multiple of 16 at or below the first byte to the one at or
// above the last. This holds for cudaMalloc blocks whose size is a multiple of
// 16. An image has less than 2^32 bytes.
struct ByteImage {
  uint8_t* data = nullptr;
  int height = 0;
  int width = 0;
  // Bytes from one row to the next.
  int64_t stride = 0;
};

// Images of one size in planes without gaps, values 0..1. Starts at a multiple
// of 16 bytes.
struct Planes {
  float* data = nullptr;
  int count = 0;
  int height = 0;
  int width = 0;
};

// A part of an image. Outside the image it reads zeros or repeats the border,
// depending on the operation.
struct Window {
  int top = 0;
  int left = 0;
  int height = 0;
  int width = 0;
};

// Mixup and CutMix of two images: weight of the image's own pixels, `own`
// everywhere except in `box`, which is all the partner's. The defaults mix
// nothing.
struct Mix {
  int partner = -1;  // Another image of the batch; -1: none.
  float own = 1;
  Window box;
};

FEEDRATE_HD float OwnPart(const Mix& mix, int y, int x) {
  const bool inside = y >= mix.box.top && y < mix.box.top + mix.box.height &&
                      x >= mix.box.left && x < mix.box.left + mix.box.width;
  return inside ? 0.0f : mix.own;
}

// How the window becomes the output.
enum class Sampling {
  kCrop,       // Copied; windows have the size of the output.
  kBilinear,   // Resized without antialiasing.
  kAntialias,  // Like Pillow and torch (antialias=True).
};

// kUint8 rounds to the nearest byte, within 0..255.
enum class Element { kFloat32, kFloat16, kBfloat16, kUint8 };

// The operation of ThreeAugment: one of three.
enum class Third : int { kNone, kGrayscale, kSolarize, kBlur };

// For one image: window, flip, third, jitter, normalize, erase, mix, in this
// order. After the window, values are rounded to bytes, as if an image were
// stored; from the jitter on they are floats.
struct Recipe {
  // For kCrop, pixels outside the image are zeros. Resampling REQUIRES a window
  // inside the image.
  Window window;
  int flip = 0;  // Mirrors left and right.
  Third third = Third::kNone;
  float sigma = 1;  // For kBlur.
  int radius = 0;   // For kBlur, at most kMaxBlurRadius; 0: RadiusOf(sigma).
  Jitter jitter;
  Window erase;  // Part of the output that is set to zero after normalizing.
  // Mixes with the result of the partner's recipe without its mix. The partner
  // is an index into `images` and `recipes`, and may be `count` or above.
  Mix mix;
};

// All pointers are to device memory.
struct RecipeBatch {
  const ByteImage* images = nullptr;
  const Recipe* recipes = nullptr;
  int count = 0;
  // Output: samples of 3 x height x width elements, at a multiple of 16 bytes;
  // with `pixels` height x width x 3.
  void* out = nullptr;
  bool pixels = false;
  // Output sample of each image. Null: 0, 1, …
  const int* places = nullptr;
  Element element = Element::kFloat32;
  int height = 0;
  int width = 0;
  Sampling sampling = Sampling::kCrop;
  // Whether any recipe has jitter or a third. Unused features cost nothing.
  bool colors = false;
  bool thirds = false;
  bool mixes = false;
  float mean[3] = {0, 0, 0};
  float std[3] = {1, 1, 1};
};

}  // namespace feedrate::fused
