#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "lib/ops/cuda/bench/samples.h"
#include "lib/ops/cuda/kernels/blur_math.h"

namespace feedrate::fused {
namespace {

// Rounding may go the other way at a half, so a few bytes may differ by one.
// `value` is one level (a byte's step) in the units of the output.
struct Tolerance {
  float value = 1;
  double fraction = 0.01;  // May differ by more than a hundredth of a level,
  float rounding = 0;      // and by more than the output's own rounding.
};

// For planes: a twentieth of a level, and nothing above.
constexpr float kPlaneTolerance = 0.05f / 255;

class Checker {
 public:
  explicit Checker(unsigned seed) : random_(seed) {}

  int failed() const { return failed_; }

  void Bytes();
  void Planes();
  void Recipes();

 private:
  void Compare(const std::string& name, const std::vector<float>& expected,
               const std::vector<float>& actual, Tolerance tolerance);
  // One operation on aligned and unaligned batches of bytes; `host` makes image
  // i.
  void ByteOp(const std::string& name,
              const std::function<cudaError_t(const ByteBatch&,
                                              const ByteBatch&)>& launch,
              const std::function<HostImage(const HostImage&, int)>& host,
              Tolerance tolerance, const std::vector<ImageSize>& out_sizes);
  void PlaneOp(
      const std::string& name, ImageSize to,
      const std::function<cudaError_t(const fused::Planes&, float*)>& launch,
      const std::function<HostImage(const HostImage&, int)>& host,
      float tolerance = kPlaneTolerance);
  std::vector<Recipe> RandomRecipes(Sampling sampling, bool thirds, bool mixes,
                                    ImageSize to);
  void RecipeOp(const std::string& name, RecipeBatch batch, ImageSize to);

  std::mt19937 random_;
  int failed_ = 0;
  std::vector<ImageSize> sizes_ = {{256, 256}, {37, 53},   {300, 411},
                                   {131, 64},  {375, 500}, {240, 227}};
};

std::vector<float> Joined(const std::vector<HostImage>& images) {
  std::vector<float> values;
  for (const HostImage& image : images) {
    values.insert(values.end(), image.values.begin(), image.values.end());
  }
  return values;
}

void Checker::Compare(const std::string& name,
                      const std::vector<float>& expected,
                      const std::vector<float>& actual, Tolerance tolerance) {
  double greatest = 0;
  size_t differ = 0;
  bool bad = expected.size() != actual.size();
  for (size_t i = 0; !bad && i < expected.size(); ++i) {
    const double difference = std::abs(expected[i] - actual[i]);
    if (!(difference <= 1e30)) bad = true;
    greatest = std::max(greatest, difference);
    if (difference > std::max(0.01f * tolerance.value, tolerance.rounding)) {
      ++differ;
    }
  }
  const double fraction =
      static_cast<double>(differ) / static_cast<double>(expected.size());
  const bool ok = !bad && greatest <= 1.02 * tolerance.value &&
                  fraction <= tolerance.fraction;
  std::printf("%-4s %-44s max %.3g of %.3g, %.4f%% differ\n",
              ok ? "ok" : "FAIL", name.c_str(), greatest, tolerance.value,
              100 * fraction);
  std::fflush(stdout);
  if (!ok) ++failed_;
}

void Checker::ByteOp(
    const std::string& name,
    const std::function<cudaError_t(const ByteBatch&, const ByteBatch&)>&
        launch,
    const std::function<HostImage(const HostImage&, int)>& host,
    Tolerance tolerance, const std::vector<ImageSize>& out_sizes) {
  for (const bool crooked : {true, false}) {
    ByteBatch in(sizes_, crooked);
    ByteBatch out(out_sizes, crooked);
    std::vector<HostImage> images;
    std::vector<HostImage> expected;
    for (const ImageSize& size : sizes_) {
      images.push_back(RandomImage(size, &random_));
      expected.push_back(
          Rounded(host(images.back(), static_cast<int>(images.size()) - 1)));
    }
    in.Fill(images);
    out.Poison();
    CHECK_CUDA(launch(in, out));
    CHECK_CUDA(cudaDeviceSynchronize());
    Compare(name + (crooked ? " (crooked)" : ""), Joined(expected),
            Joined(out.Images()), tolerance);
  }
}

void Checker::Bytes() {
  const int count = static_cast<int>(sizes_.size());
  std::vector<Jitter> jitters;
  std::vector<Projection> affine;
  std::vector<Projection> resize;
  std::vector<Projection> flip;
  std::vector<Projection> perspective;
  std::vector<float> sigmas;
  std::vector<ImageSize> halves;
  for (int i = 0; i < count; ++i) {
    const ImageSize size = sizes_[i];
    jitters.push_back(RandomJitter(&random_));
    affine.push_back(AffineProjection(RandomAffine(size, &random_), size.height,
                                      size.width));
    halves.push_back({size.height / 2 + 3, size.width * 2 - 1});
    resize.push_back(ResizeProjection(size.height, size.width, halves[i].height,
                                      halves[i].width));
    flip.push_back(CropProjection(0, 0, size.width, true));
    perspective.push_back(
        {{0.95f, 0.05f, 10, -0.03f, 0.9f, 15, 1e-4f, -2e-4f}});
    sigmas.push_back(0.8f + 0.3f * static_cast<float>(i));
  }
  const Buffer<float> sigmas_d(sigmas);
  const auto jitter = [&](const std::string& name, bool has_contrast) {
    const Buffer<Jitter> jitters_d(jitters);
    ByteOp(
        name,
        [&](const ByteBatch& in, const ByteBatch& out) {
          return JitterBytes(in.device(), jitters_d.data(), count, has_contrast,
                             out.device(), nullptr);
        },
        [&](const HostImage& image, int i) {
          return HostJitter(image, jitters[i]);
        },
        {}, sizes_);
  };
  jitter("jitter bytes", true);
  for (Jitter& each : jitters) each = WithoutContrast(each);
  jitter("jitter bytes without contrast", false);
  const auto warp = [&](const std::string& name,
                        const std::vector<Projection>& projections, Edge edge,
                        const std::vector<ImageSize>& to) {
    const Buffer<Projection> projections_d(projections);
    ByteOp(
        name,
        [&](const ByteBatch& in, const ByteBatch& out) {
          return WarpBytes(in.device(), projections_d.data(), count, edge,
                           out.device(), 1024, 1024, nullptr);
        },
        [&](const HostImage& image, int i) {
          return HostWarp(image, projections[i], edge, to[i].height,
                          to[i].width);
        },
        {}, to);
  };
  warp("affine bytes", affine, Edge::kZero, sizes_);
  warp("affine bytes, border repeated", affine, Edge::kReplicate, sizes_);
  warp("perspective bytes", perspective, Edge::kZero, sizes_);
  warp("flip bytes", flip, Edge::kZero, sizes_);
  warp("resize bytes", resize, Edge::kReplicate, halves);
  for (int radius = 1; radius <= kMaxBlurRadius; ++radius) {
    ByteOp(
        "blur bytes, radius " + std::to_string(radius),
        [&](const ByteBatch& in, const ByteBatch& out) {
          return BlurBytes(in.device(), sigmas_d.data(), count, radius,
                           out.device(), 512, 512, nullptr);
        },
        [&](const HostImage& image, int i) {
          return HostBlur(image, sigmas[i], radius);
        },
        {}, sizes_);
  }
  const auto tone = [&](const std::string& name, Tone kind, float amount) {
    const Buffer<float> amounts_d(std::vector<float>(count, amount));
    ByteOp(
        name,
        [&](const ByteBatch& in, const ByteBatch& out) {
          return ToneBytes(in.device(), kind, amounts_d.data(), count,
                           out.device(), nullptr);
        },
        [&](const HostImage& image, int) {
          return HostTone(image, kind, amount);
        },
        {0.5f, 0}, sizes_);
  };
  tone("invert", Tone::kInvert, 0);
  tone("posterize", Tone::kPosterize, 4);
  tone("solarize", Tone::kSolarize, 128);
  tone("solarize, between bytes", Tone::kSolarize, 99.5f);
  tone("solarize, the last byte", Tone::kSolarize, 255);
  tone("solarize, no byte", Tone::kSolarize, 255.5f);
  tone("solarize, every byte", Tone::kSolarize, -1);
  tone("multiply", Tone::kMultiply, 1.2f);
  ByteOp(
      "equalize",
      [&](const ByteBatch& in, const ByteBatch& out) {
        return EqualizeBytes(in.device(), count, out.device(), nullptr);
      },
      [](const HostImage& image, int) { return HostEqualize(image); },
      {0.5f, 0}, sizes_);
}

void Checker::PlaneOp(
    const std::string& name, ImageSize to,
    const std::function<cudaError_t(const fused::Planes&, float*)>& launch,
    const std::function<HostImage(const HostImage&, int)>& host,
    float tolerance) {
  const ImageSize size = {200, 256};
  std::vector<HostImage> images;
  std::vector<HostImage> expected;
  for (int i = 0; i < 3; ++i) {
    images.push_back(RandomImage(size, &random_));
    expected.push_back(host(images.back(), i));
  }
  const Buffer<float> in(PlanesOf(images));
  Buffer<float> out(3u * 3 * to.height * to.width);
  out.Poison();
  CHECK_CUDA(launch({in.data(), 3, size.height, size.width}, out.data()));
  CHECK_CUDA(cudaDeviceSynchronize());
  Compare(name, PlanesOf(expected), out.Values(), {tolerance, 1});
}

void Checker::Planes() {
  const ImageSize size = {200, 256};
  std::vector<Jitter> jitters;
  std::vector<Projection> affine;
  for (int i = 0; i < 3; ++i) {
    jitters.push_back(RandomJitter(&random_));
    affine.push_back(AffineProjection(RandomAffine(size, &random_), size.height,
                                      size.width));
  }
  const std::vector<float> sigmas = {0.7f, 1.5f, 2.5f};
  const Buffer<float> sigmas_d(sigmas);
  const auto jitter = [&](const std::string& name, bool has_contrast) {
    const Buffer<Jitter> jitters_d(jitters);
    PlaneOp(
        name, size,
        [&](const fused::Planes& in, float* out) {
          return JitterPlanes(in, jitters_d.data(), has_contrast, out, nullptr);
        },
        [&](const HostImage& image, int i) {
          return HostJitter(image, jitters[i]);
        });
  };
  jitter("jitter planes", true);
  for (Jitter& each : jitters) each = WithoutContrast(each);
  jitter("jitter planes without contrast", false);
  const auto warp = [&](const std::string& name, WarpPath path, Edge edge,
                        const std::vector<Projection>& projections,
                        float tolerance = kPlaneTolerance) {
    const Buffer<Projection> projections_d(projections);
    WarpTextures textures;
    PlaneOp(
        name, size,
        [&](const fused::Planes& in, float* out) {
          CHECK_CUDA(MakeWarpTextures(in, &textures));
          return WarpPlanes(in, projections_d.data(), textures, edge, path, out,
                            nullptr);
        },
        [&](const HostImage& image, int i) {
          return HostWarp(image, projections[i], edge, size.height, size.width);
        },
        tolerance);
    FreeWarpTextures(&textures);
  };
  warp("affine planes, quads", WarpPath::kQuads, Edge::kZero, affine);
  warp("affine planes, quads, border repeated", WarpPath::kQuads,
       Edge::kReplicate, affine);
  // Positions are in steps of 1/256, and neighbors may be black and white.
  warp("affine planes, filtered", WarpPath::kFiltered, Edge::kZero, affine,
       4.0f / 256);
  for (int radius = 1; radius <= kMaxBlurRadius; ++radius) {
    PlaneOp(
        "blur planes, radius " + std::to_string(radius), size,
        [&](const fused::Planes& in, float* out) {
          return BlurPlanes(in, sigmas_d.data(), radius, out, nullptr);
        },
        [&](const HostImage& image, int i) {
          return HostBlur(image, sigmas[i], radius);
        });
  }
  for (const ImageSize to : {ImageSize{400, 512}, ImageSize{77, 100}}) {
    PlaneOp(
        "resize planes to " + std::to_string(to.width), to,
        [&](const fused::Planes& in, float* out) {
          return ResizePlanes(in, to.height, to.width, out, nullptr);
        },
        [&](const HostImage& image, int) {
          return HostWarp(
              image,
              ResizeProjection(image.height, image.width, to.height, to.width),
              Edge::kReplicate, to.height, to.width);
        });
  }
}

float AsFloat(float value) { return value; }
float AsFloat(__half value) { return __half2float(value); }
float AsFloat(__nv_bfloat16 value) { return __bfloat162float(value); }
float AsFloat(uint8_t value) { return value; }

template <typename T>
std::vector<float> Run(RecipeBatch batch) {
  Buffer<T> out(3u * batch.count * batch.height * batch.width);
  out.Poison();
  batch.out = out.data();
  CHECK_CUDA(RunRecipe(batch, nullptr));
  CHECK_CUDA(cudaDeviceSynchronize());
  std::vector<float> values;
  for (const T& value : out.Values()) values.push_back(AsFloat(value));
  return values;
}

// Samples as they are in the output: number i at places[i].
std::vector<float> Scattered(const std::vector<float>& samples,
                             const std::vector<int>& places) {
  const size_t values = samples.size() / places.size();
  std::vector<float> scattered(samples.size());
  for (size_t i = 0; i < places.size(); ++i) {
    std::copy_n(samples.begin() + i * values, values,
                scattered.begin() + places[i] * values);
  }
  return scattered;
}

std::vector<Recipe> Checker::RandomRecipes(Sampling sampling, bool thirds,
                                           bool mixes, ImageSize to) {
  std::vector<Recipe> recipes;
  const int count = static_cast<int>(sizes_.size());
  for (int i = 0; i < count; ++i) {
    Recipe recipe;
    recipe.flip = i % 2;
    if (sampling == Sampling::kCrop) {
      // Some reach outside.
      recipe.window = {static_cast<int>(random_() % 40) - 20,
                       static_cast<int>(random_() % 40) - 20, to.height,
                       to.width};
      if (i == 4) recipe.window = {8, 17, to.height, to.width};
    } else {
      recipe.window = RandomWindow(sizes_[i], &random_);
    }
    if (thirds) recipe.third = static_cast<Third>(i % 4);
    recipe.sigma = 0.3f + 0.4f * static_cast<float>(i % 5);
    // Some are cut off earlier than necessary.
    recipe.radius = i % 2 == 0 ? 0 : 2;
    recipe.erase = {20, 30, 10 * (i % 3), 25};
    if (mixes && i % 3 != 0) {
      recipe.mix.partner = (i + 1) % count;
      recipe.mix.own = i % 3 == 1 ? 0.7f : 1.0f;
      if (i % 3 == 2) recipe.mix.box = {10, 20, 50, 60};
    }
    recipes.push_back(recipe);
  }
  return recipes;
}

void Checker::RecipeOp(const std::string& name, RecipeBatch batch,
                       ImageSize to) {
  ByteBatch in(sizes_, true);
  std::vector<HostImage> images;
  for (const ImageSize& size : sizes_) {
    images.push_back(RandomImage(size, &random_));
  }
  in.Fill(images);
  std::vector<Recipe> recipes =
      RandomRecipes(batch.sampling, batch.thirds, batch.mixes, to);
  if (batch.colors) {
    for (Recipe& recipe : recipes) recipe.jitter = RandomJitter(&random_);
    recipes[2].jitter = Jitter();
  }
  const Buffer<Recipe> recipes_d(recipes);
  batch.images = in.device();
  batch.recipes = recipes_d.data();
  batch.count = in.count();
  batch.height = to.height;
  batch.width = to.width;
  const float mean[3] = {0.485f, 0.456f, 0.406f};
  const float std[3] = {0.229f, 0.224f, 0.225f};
  std::copy(mean, mean + 3, batch.mean);
  std::copy(std, std + 3, batch.std);
  const bool to_bytes = batch.element == Element::kUint8;
  if (to_bytes) {
    std::fill_n(batch.mean, 3, 0.0f);
    std::fill_n(batch.std, 3, 1 / 255.0f);
  }
  std::vector<float> expected = HostRecipe(images, recipes, batch);
  std::vector<int> places(batch.count);
  std::iota(places.begin(), places.end(), 0);
  std::shuffle(places.begin(), places.end(), random_);
  const Buffer<int> places_d(places);
  // With and without.
  if (batch.mixes || batch.element == Element::kFloat16) {
    batch.places = places_d.data();
    expected = Scattered(expected, places);
  }
  // One level, amplified by jitter; a blur may be one level off more often.
  const bool bytes_again =
      batch.sampling != Sampling::kCrop || batch.colors || batch.thirds;
  Tolerance tolerance = {bytes_again ? 8 / 255.0f / 0.224f : 1e-4f,
                         bytes_again ? 0.03 : 1};
  std::vector<float> actual;
  if (batch.element == Element::kFloat32) actual = Run<float>(batch);
  if (batch.element == Element::kFloat16) {
    tolerance.rounding = 0.002f;
    actual = Run<__half>(batch);
  }
  if (batch.element == Element::kBfloat16) {
    tolerance.rounding = 0.01f;
    actual = Run<__nv_bfloat16>(batch);
  }
  if (to_bytes) {
    // A level, where the floats are close to a half.
    tolerance.value = bytes_again ? 8 : 0.01f;
    tolerance.rounding = batch.mixes || batch.colors ? 1 : 0;
    actual = Run<uint8_t>(batch);
  }
  tolerance.value += tolerance.rounding;
  Compare(name, expected, actual, tolerance);
}

void Checker::Recipes() {
  const ImageSize usual = {224, 224};
  const ImageSize odd = {101, 75};
  RecipeBatch plain;
  RecipeOp("crop", plain, usual);
  RecipeOp("crop to odd size", plain, odd);
  plain.element = Element::kFloat16;
  RecipeOp("crop to float16", plain, usual);
  plain.element = Element::kBfloat16;
  RecipeOp("crop to bfloat16", plain, usual);
  plain.element = Element::kFloat32;
  plain.mixes = true;
  RecipeOp("crop, mixup and cutmix", plain, usual);
  plain.mixes = false;
  for (const ImageSize& size : {usual, odd}) {
    const std::string name = size.width == 224 ? "" : " of odd size";
    plain.element = Element::kUint8;
    plain.pixels = false;
    RecipeOp("crop to planes of bytes" + name, plain, size);
    plain.pixels = true;
    RecipeOp("crop to pixels of bytes" + name, plain, size);
    plain.element = Element::kFloat32;
    RecipeOp("crop to pixels of floats" + name, plain, size);
  }
  for (const Sampling sampling :
       {Sampling::kCrop, Sampling::kBilinear, Sampling::kAntialias}) {
    RecipeBatch batch;
    batch.sampling = sampling;
    const std::string name = std::vector<std::string>{
        "crop", "bilinear", "antialias"}[static_cast<int>(sampling)];
    if (sampling != Sampling::kCrop) {
      RecipeOp(name, batch, usual);
      RecipeOp(name + " to odd size", batch, odd);
      // Many rows and columns of the window for each of the output.
      RecipeOp(name + " to small size", batch, {30, 20});
      RecipeOp(name + " to few rows", batch, {5, 100});
      RecipeOp(name + " to large size", batch, {320, 1500});
      batch.mixes = true;
      RecipeOp(name + ", mixes", batch, usual);
      batch.mixes = false;
      // Windows of one pixel, and nothing to read beside them.
      std::vector<ImageSize> tiny = {{1, 1}, {1, 40}, {40, 1},
                                     {2, 3}, {7, 2},  {9, 300}};
      sizes_.swap(tiny);
      for (int i = 0; i < 5; ++i) {
        RecipeOp(name + " of tiny images", batch, odd);
      }
      sizes_.swap(tiny);
    }
    batch.colors = true;
    RecipeOp(name + ", jitter", batch, usual);
    batch.thirds = true;
    RecipeOp(name + ", three, jitter", batch, usual);
    batch.mixes = true;
    RecipeOp(name + ", three, jitter, mixes", batch, usual);
    RecipeOp(name + ", all, to odd size", batch, odd);
    batch.element = Element::kBfloat16;
    RecipeOp(name + ", all, to bfloat16", batch, usual);
    batch.pixels = true;
    RecipeOp(name + ", all, to pixels of bfloat16", batch, usual);
    batch.element = Element::kUint8;
    RecipeOp(name + ", all, to pixels of bytes", batch, odd);
  }
}

}  // namespace

int RunChecks(unsigned seed) {
  Checker checker(seed);
  checker.Bytes();
  checker.Planes();
  checker.Recipes();
  return checker.failed();
}

}  // namespace feedrate::fused
