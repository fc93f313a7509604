// A batch of images and what becomes of each, as a launch takes them. Needs no
// CUDA, so that what is drawn can be tested without.
#ifndef FEEDRATE_LIB_ADAPTERS_CUDA_RECIPE_BATCH_H_
#define FEEDRATE_LIB_ADAPTERS_CUDA_RECIPE_BATCH_H_

#include "lib/adapters/cuda/batch.h"
#include "lib/adapters/cuda/colour_math.h"
#include "lib/adapters/cuda/mix.h"

namespace feedrate::fused {

// How the window becomes the output.
enum class Sampling {
  kCrop,       // Pixel by pixel; windows have the size of the output.
  kBilinear,   // Stretched, nothing smoothed first.
  kAntialias,  // As Pillow and torch (antialias=True) do it.
};

enum class Element { kFloat32, kFloat16, kBfloat16 };

// What ThreeAugment does to an image: one of the three.
enum class Third : int { kNone, kGrayscale, kSolarize, kBlur };

// For one image: window, flip, third, jitter, normalise, erase, mix, in this
// order. After the window values are bytes again, as if an image were stored;
// from the jitter on they are floats.
struct Recipe {
  // Pixels outside the image are zeros for kCrop. Resampling REQUIRES it
  // inside.
  Window window;
  int flip = 0;  // Left and right change places.
  Third third = Third::kNone;
  float sigma = 1;  // Of kBlur.
  int radius = 0;   // Of kBlur, kMaxBlurRadius at most; 0: RadiusOf(sigma).
  Jitter jitter;
  Window erase;  // Of the output, becomes zeros after normalising.
  // With what the partner's recipe makes, its mix left out. A partner is a
  // place in `images` and `recipes`, and may lie behind `count`.
  Mix mix;
};

// All pointers are to device memory.
struct RecipeBatch {
  const ByteImage* images = nullptr;
  const Recipe* recipes = nullptr;
  int count = 0;
  // Output: samples of 3 x height x width elements, at a multiple of 16 bytes.
  void* out = nullptr;
  // Which sample of the output each image becomes. Null: 0, 1, …
  const int* places = nullptr;
  Element element = Element::kFloat32;
  int height = 0;
  int width = 0;
  Sampling sampling = Sampling::kCrop;
  // Whether any recipe has jitter or a third. What no recipe has costs nothing.
  bool colours = false;
  bool thirds = false;
  bool mixes = false;
  float mean[3] = {0, 0, 0};
  float std[3] = {1, 1, 1};
  // Groups of four pixels that a thread of the plain crop has in flight: 1, 2,
  // 4 or 7. More only helped on paper: docs/gpu.md.
  int quads_per_thread = 1;
};

}  // namespace feedrate::fused

#endif  // FEEDRATE_LIB_ADAPTERS_CUDA_RECIPE_BATCH_H_
