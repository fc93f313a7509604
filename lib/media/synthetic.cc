#include "lib/media/synthetic.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "lib/media/jpeg.h"
#include "lib/media/synthetic_noise.h"
#include "lib/media/synthetic_random.h"
#include "lib/media/synthetic_scene.h"

namespace feedrate {
namespace {

struct CommonSize {
  int width;
  int height;
  int share;  // In 1/256.
};

// Photographs of web albums, whose longer side was cut down to 500.
constexpr CommonSize kSizes[] = {
    {500, 375, 112}, {500, 333, 36}, {375, 500, 32},  {333, 500, 10},
    {500, 334, 8},   {640, 480, 8},  {500, 400, 6},   {500, 500, 6},
    {400, 300, 5},   {500, 335, 4},  {320, 240, 3},   {480, 640, 2},
    {800, 600, 2},   {1024, 768, 1}, {1600, 1200, 1},
};

// What is drawn first for an image, and alone decides its size.
SyntheticRandom RandomOf(uint64_t seed, int64_t index) {
  SyntheticRandom seeds(seed);
  return SyntheticRandom(seeds.Next() ^
                         (static_cast<uint64_t>(index) * 0xd1342543de82ef95u));
}

ImageInfo DrawSize(SyntheticRandom* random) {
  int place = random->Between(0, 255);
  for (const CommonSize& size : kSizes) {
    place -= size.share;
    if (place < 0) return {size.height, size.width, 3};
  }
  // The rest: any size up to that of the album.
  const int width = random->Between(150, 500);
  return {random->Between(width / 2, width * 3 / 2), width, 3};
}

// Fields that the whole picture shares; surfaces differ in how much they show.
struct Textures {
  Textures(int width, int height, SyntheticRandom* random)
      : coarse(MakeNoise(width, height, {0, 0, 0, 0, 0, 150, 280, 420},
                         random->Next())),
        fine(MakeNoise(width, height, {300, 370, 400, 400, 320},
                       random->Next())),
        blue(MakeNoise(width, height, {0, 0, 12, 24, 48, 70, 90},
                       random->Next())),
        red(MakeNoise(width, height, {0, 0, 12, 24, 48, 70, 90},
                      random->Next())),
        sensor(random->Next()),
        grain(random->Between(32, 112)) {}

  NoiseField coarse;
  NoiseField fine;
  NoiseField blue;
  NoiseField red;
  uint64_t sensor;
  int grain;  // Of the sensor, in 1/16 of a grey level.
};

uint8_t ToByte(int sixteenths) {
  return static_cast<uint8_t>(std::clamp((sixteenths + 8) >> 4, 0, 255));
}

// Pixels [begin, end) of row y, which all show `surface`.
void PaintRun(const Surface& surface, const Textures& textures,
              const int16_t* grain, int y, int begin, int end, uint8_t* rgb) {
  const int16_t* coarse = textures.coarse.row(y);
  const int16_t* fine = textures.fine.row(y);
  const int16_t* blue = textures.blue.row(y);
  const int16_t* red = textures.red.row(y);
  const int light = surface.luma + (surface.slope_y * y >> 8);
  for (int x = begin; x < end; ++x) {
    const int luma = light + (surface.slope_x * x >> 8) +
                     (coarse[x] * surface.coarse_gain >> 8) +
                     (fine[x] * surface.fine_gain >> 8) + grain[x];
    const int b = surface.blue + blue[x];
    const int r = surface.red + red[x];
    // Green so that 0.3 r + 0.6 g + 0.1 b is the luma, nearly.
    const int g = -((r * 128 + b * 48) >> 8);
    rgb[3 * x] = ToByte(luma + r);
    rgb[3 * x + 1] = ToByte(luma + g);
    rgb[3 * x + 2] = ToByte(luma + b);
  }
}

void DrawGrain(const Textures& textures, int y, std::vector<int16_t>* grain) {
  const uint32_t key =
      static_cast<uint32_t>(SyntheticRandom(textures.sensor + y).Next());
  for (size_t x = 0; x < grain->size(); ++x) {
    const uint32_t hash = PixelHash(key, static_cast<uint32_t>(x));
    // The sum of two uniform numbers, about as bell-shaped as needed.
    const int centred =
        static_cast<int>((hash & 255) + (hash >> 8 & 255)) - 255;
    (*grain)[x] = static_cast<int16_t>(centred * textures.grain >> 8);
  }
}

Image Paint(const ImageInfo& size, SyntheticRandom* random) {
  const SyntheticScene scene(size.width, size.height, random);
  const Textures textures(size.width, size.height, random);
  Image image(size.height, size.width, 3);
  std::vector<uint8_t> labels(size.width);
  std::vector<int16_t> grain(size.width);
  for (int y = 0; y < size.height; ++y) {
    scene.PaintRow(y, labels.data());
    DrawGrain(textures, y, &grain);
    for (int x = 0; x < size.width;) {
      int end = x + 1;
      while (end < size.width && labels[end] == labels[x]) ++end;
      PaintRun(scene.surface(labels[x]), textures, grain.data(), y, x, end,
               image.row(y));
      x = end;
    }
  }
  return image;
}

JpegOptions DrawOptions(SyntheticRandom* random) {
  JpegOptions options;
  options.quality = random->Between(94, 97);
  options.subsampling =
      random->Between(0, 3) == 0 ? Subsampling::k444 : Subsampling::k420;
  return options;
}

}  // namespace

ImageInfo SyntheticSize(uint64_t seed, int64_t index) {
  SyntheticRandom random = RandomOf(seed, index);
  return DrawSize(&random);
}

Image SyntheticPixels(uint64_t seed, int64_t index) {
  SyntheticRandom random = RandomOf(seed, index);
  const ImageInfo size = DrawSize(&random);
  DrawOptions(&random);
  return Paint(size, &random);
}

std::string SyntheticJpeg(uint64_t seed, int64_t index) {
  SyntheticRandom random = RandomOf(seed, index);
  const ImageInfo size = DrawSize(&random);
  const JpegOptions options = DrawOptions(&random);
  const Image image = Paint(size, &random);
  // Three channels and modest sides: there is nothing that could fail.
  return EncodeJpeg(image.view(), options).value();
}

std::string SyntheticName(int64_t index) {
  return absl::StrFormat("synthetic_%08d.jpg", index);
}

}  // namespace feedrate
