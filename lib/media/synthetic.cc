#include "lib/media/synthetic.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/media/image_file.h"
#include "lib/media/item_ids.h"
#include "lib/media/synthetic_random.h"

namespace feedrate {
namespace {

// Smooth random fields, in integers.
struct NoiseField {
  int width = 0;
  int height = 0;
  std::vector<int16_t> values;  // Rows without gaps.

  const int16_t* row(int y) const {
    return values.data() + static_cast<int64_t>(y) * width;
  }
};

// Number of values that the level above needs, to be doubled to `length`.
int HalfLength(int length) { return length / 2 + 2; }

// Repeated doubling with the weights 3/4 and 1/4 converges to a quadratic
// spline: no corners and no visible grid.
void DoubleRow(const int16_t* in, int length, int16_t* out) {
  for (int i = 0; i < length / 2; ++i) {
    const int a = in[i];
    const int b = in[i + 1];
    out[2 * i] = static_cast<int16_t>((3 * a + b + 2) >> 2);
    out[2 * i + 1] = static_cast<int16_t>((a + 3 * b + 2) >> 2);
  }
  if (length % 2 != 0) {
    const int i = length / 2;
    out[length - 1] = static_cast<int16_t>((3 * in[i] + in[i + 1] + 2) >> 2);
  }
}

void MixRows(const int16_t* near, const int16_t* far, int length,
             int16_t* out) {
  for (int i = 0; i < length; ++i) {
    out[i] = static_cast<int16_t>((3 * near[i] + far[i] + 2) >> 2);
  }
}

void AddNoise(uint32_t key, int amplitude, int length, int16_t* out) {
  for (int i = 0; i < length; ++i) {
    const int centered =
        static_cast<int>(PixelHash(key, static_cast<uint32_t>(i)) >> 23) - 256;
    out[i] = static_cast<int16_t>(out[i] + ((centered * amplitude) >> 8));
  }
}

uint32_t RowKey(uint64_t key, int level, int y) {
  return static_cast<uint32_t>(
      SyntheticRandom(key + (static_cast<uint64_t>(level) << 32) + y).Next());
}

NoiseField Double(const NoiseField& in, int width, int height) {
  NoiseField out{width, height,
                 std::vector<int16_t>(static_cast<size_t>(width) * height)};
  std::vector<int16_t> above(width);
  std::vector<int16_t> below(width);
  DoubleRow(in.row(0), width, above.data());
  for (int y = 0; y < height; ++y) {
    if (y % 2 == 0) DoubleRow(in.row(y / 2 + 1), width, below.data());
    int16_t* to = out.values.data() + static_cast<size_t>(y) * width;
    if (y % 2 == 0) {
      MixRows(above.data(), below.data(), width, to);
    } else {
      MixRows(below.data(), above.data(), width, to);
      above.swap(below);
    }
  }
  return out;
}

NoiseField MakeLevel(int width, int height, const std::vector<int>& amplitudes,
                     size_t level, uint64_t key) {
  NoiseField field;
  if (level + 1 < amplitudes.size()) {
    field = Double(MakeLevel(HalfLength(width), HalfLength(height), amplitudes,
                             level + 1, key),
                   width, height);
  } else {
    field = {width, height,
             std::vector<int16_t>(static_cast<size_t>(width) * height)};
  }
  if (amplitudes[level] == 0) return field;
  for (int y = 0; y < height; ++y) {
    AddNoise(RowKey(key, static_cast<int>(level), y), amplitudes[level], width,
             field.values.data() + static_cast<size_t>(y) * width);
  }
  return field;
}

// A field of `width` x `height` from octaves of noise. `amplitudes[k]` is the
// largest value of the octave whose features are about 2^k pixels wide, so
// amplitudes in proportion to 2^k give the falling spectrum of photographs.
// Values stay within the sum of the amplitudes. REQUIRES: that sum < 8,000.
NoiseField MakeNoise(int width, int height, const std::vector<int>& amplitudes,
                     uint64_t key) {
  return MakeLevel(width, height, amplitudes, 0, key);
}

// The same in one dimension.
std::vector<int16_t> MakeNoiseLine(int length,
                                   const std::vector<int>& amplitudes,
                                   uint64_t key) {
  std::vector<int16_t> line = MakeNoise(length, 1, amplitudes, key).values;
  line.resize(length);
  return line;
}

// The appearance of one object. Luma and chroma are in 1/16 of a gray level.
struct Surface {
  int luma = 0;
  int blue = 0;  // Blue and red minus luma.
  int red = 0;
  int slope_x = 0;  // Change of luma over 256 pixels: light from one side.
  int slope_y = 0;
  int coarse_gain = 0;  // Strength of the textures, in 1/256.
  int fine_gain = 0;
};

// What a synthetic photograph shows: hills, boxes and blobs, one in front of
// the other, each with a color and a texture of its own.
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

int SquareRoot(uint64_t value) {
  uint64_t root = 0;
  for (int bit = 15; bit >= 0; --bit) {
    const uint64_t candidate = root | (uint64_t{1} << bit);
    if (candidate * candidate <= value) root = candidate;
  }
  return static_cast<int>(root);
}

SyntheticScene::SyntheticScene(int width, int height, SyntheticRandom* random)
    : width_(width), height_(height) {
  AddSurface(random->Between(120, 190), random);
  const int hills = random->Between(0, 3);
  for (int i = 0; i < hills; ++i) AddHills(random);
  const int things = random->Between(8, 30);
  for (int i = 0; i < things; ++i) {
    if (random->Between(0, 99) < 65) {
      AddBlob(random);
    } else {
      AddBox(random);
    }
  }
}

void SyntheticScene::AddSurface(int light, SyntheticRandom* random) {
  Surface surface;
  surface.slope_x = 16 * random->Between(-24, 24);
  surface.slope_y = 16 * random->Between(-36, 24);
  // `light` applies to the middle.
  surface.luma = 16 * light - (surface.slope_x * (width_ / 2) >> 8) -
                 (surface.slope_y * (height_ / 2) >> 8);
  // Most objects are nearly gray; a few are colorful.
  const int color = random->Between(0, 9) == 0 ? 70 : 28;
  surface.blue = 16 * random->Between(-color, color * 3 / 4);
  surface.red = 16 * random->Between(-color * 3 / 4, color);
  surface.coarse_gain = random->Between(60, 320);
  // Squared: many smooth surfaces, few rough ones.
  const int rough = random->Between(2, 23);
  surface.fine_gain = rough * rough;
  surfaces_.push_back(surface);
}

void SyntheticScene::AddHills(SyntheticRandom* random) {
  Shape hills;
  const int horizon = height_ * random->Between(30, 85) / 100;
  const int rough = random->Between(1, 12);
  const std::vector<int16_t> line =
      MakeNoiseLine(width_,
                    {rough / 6, rough / 3, rough / 2, rough, 2 * rough,
                     4 * rough, 6 * rough, 8 * rough},
                    random->Next());
  for (int16_t offset : line) hills.skyline.push_back(horizon + offset / 4);
  AddSurface(random->Between(40, 150), random);
  shapes_.push_back(std::move(hills));
}

void SyntheticScene::AddBlob(SyntheticRandom* random) {
  Shape blob;
  const int a = std::max(4, width_ * random->Between(1, 22) / 100);
  const int b = std::max(4, height_ * random->Between(2, 28) / 100);
  const int x = random->Between(-a / 2, width_ + a / 2);
  const int y = random->Between(-b / 2, height_ + b / 2);
  const int wobble = random->Between(0, 8);
  const std::vector<int> octaves = {0,          wobble / 2, wobble,
                                    2 * wobble, 4 * wobble, 5 * wobble};
  const std::vector<int16_t> left =
      MakeNoiseLine(2 * b, octaves, random->Next());
  const std::vector<int16_t> right =
      MakeNoiseLine(2 * b, octaves, random->Next());
  blob.top = y - b;
  for (int i = 0; i < 2 * b; ++i) {
    const int64_t dy = 2 * i + 1 - 2 * b;  // In half rows from the middle.
    const uint64_t share = (uint64_t{1} << 20) - (dy * dy << 20) / (4 * b * b);
    const int half = a * SquareRoot(share) / 1024;
    blob.left.push_back(x - half + left[i] * half / (4 * a));
    blob.right.push_back(x + half + right[i] * half / (4 * a));
  }
  AddSurface(random->Between(35, 200), random);
  shapes_.push_back(std::move(blob));
}

void SyntheticScene::AddBox(SyntheticRandom* random) {
  Shape box;
  const int width = std::max(3, width_ * random->Between(2, 35) / 100);
  const int height = std::max(3, height_ * random->Between(3, 60) / 100);
  const int x = random->Between(-width / 2, width_ - width / 2);
  box.top = random->Between(-height / 2, height_ - height / 2);
  const int slant = random->Between(-90, 90);
  for (int i = 0; i < height; ++i) {
    box.left.push_back(x + i * slant / 256);
    box.right.push_back(x + i * slant / 256 + width);
  }
  AddSurface(random->Between(35, 200), random);
  shapes_.push_back(std::move(box));
}

void SyntheticScene::PaintRow(int y, uint8_t* labels) const {
  std::memset(labels, 0, width_);
  for (size_t i = 0; i < shapes_.size(); ++i) {
    const Shape& shape = shapes_[i];
    const uint8_t label = static_cast<uint8_t>(i + 1);
    if (!shape.skyline.empty()) {
      for (int x = 0; x < width_; ++x) {
        labels[x] = y >= shape.skyline[x] ? label : labels[x];
      }
      continue;
    }
    const int row = y - shape.top;
    if (row < 0 || row >= static_cast<int>(shape.left.size())) continue;
    const int left = std::clamp(shape.left[row], 0, width_);
    const int right = std::clamp(shape.right[row], left, width_);
    std::memset(labels + left, label, right - left);
  }
}

struct CommonSize {
  int width;
  int height;
  int share;  // In 1/256.
};

// Sizes of photographs in web albums, whose longer side was reduced to 500.
constexpr CommonSize kSizes[] = {
    {500, 375, 112}, {500, 333, 36}, {375, 500, 32},  {333, 500, 10},
    {500, 334, 8},   {640, 480, 8},  {500, 400, 6},   {500, 500, 6},
    {400, 300, 5},   {500, 335, 4},  {320, 240, 3},   {480, 640, 2},
    {800, 600, 2},   {1024, 768, 1}, {1600, 1200, 1},
};

// The first draw for an image, which alone decides its size.
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
  // The rest has any size up to that of the albums.
  const int width = random->Between(150, 500);
  return {random->Between(width / 2, width * 3 / 2), width, 3};
}

// Fields shared by the whole picture; surfaces differ in how strongly they show
// them.
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
  int grain;  // Sensor noise, in 1/16 of a gray level.
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
    // Chooses green so that 0.3 r + 0.6 g + 0.1 b is roughly the luma.
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
    const int centered =
        static_cast<int>((hash & 255) + (hash >> 8 & 255)) - 255;
    (*grain)[x] = static_cast<int16_t>(centered * textures.grain >> 8);
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

absl::Status Wrong(absl::string_view dataset, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(
      dataset, ": ", what, "; write for example synthetic:rgb,n=100,seed=1"));
}

// One NAME=VALUE, whose form DatasetId has checked.
absl::Status ReadParameter(absl::string_view dataset, absl::string_view text,
                           SyntheticSpec* spec) {
  const std::vector<absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits('=', 1));
  if (parts[0] == "n") {
    if (!absl::SimpleAtoi(parts[1], &spec->n) || spec->n < 1) {
      return Wrong(dataset, "n must be a whole number above 0");
    }
    return absl::OkStatus();
  }
  if (parts[0] == "seed" && !spec->ids) {
    if (!absl::SimpleAtoi(parts[1], &spec->seed)) {
      return Wrong(dataset, "seed must be a whole number of 64 bits");
    }
    return absl::OkStatus();
  }
  return Wrong(dataset,
               absl::StrCat("parameter \"", parts[0], "\" is unknown, n ",
                            spec->ids ? "is not" : "and seed are not"));
}

}  // namespace

bool IsSynthetic(absl::string_view dataset) {
  return absl::StartsWith(dataset, "synthetic:");
}

absl::StatusOr<SyntheticSpec> ParseSynthetic(absl::string_view dataset) {
  ASSIGN_OR_RETURN(const std::string id, DatasetId(dataset));
  const std::vector<absl::string_view> parts =
      absl::StrSplit(absl::StripPrefix(id, "synthetic:"), ',');
  SyntheticSpec spec;
  spec.ids = parts[0] == "ids";
  if (parts[0] != "rgb" && parts[0] != "9ch" && !spec.ids) {
    return Wrong(dataset,
                 absl::StrCat("there are no synthetic images of kind \"",
                              parts[0], "\", only rgb, 9ch and ids"));
  }
  for (size_t i = 1; i < parts.size(); ++i) {
    RETURN_IF_ERROR(ReadParameter(dataset, parts[i], &spec));
  }
  if (spec.ids && spec.n > kItemIds) {
    return Wrong(dataset, absl::StrCat("there are ", kItemIds, " ids"));
  }
  return spec;
}

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
  // Cannot fail: three channels and moderate sides.
  return EncodeJpeg(image.view(), options).value();
}

std::string SyntheticFile(const SyntheticSpec& spec, int64_t index) {
  return spec.ids ? ItemIdJpeg(index) : SyntheticJpeg(spec.seed, index);
}

std::string SyntheticName(int64_t index) {
  return absl::StrFormat("synthetic_%08d.jpg", index);
}

}  // namespace feedrate
