#include <algorithm>
#include <cstdio>
#include <functional>
#include <utility>
#include <vector>

#include "lib/ops/cuda/bench/samples.h"

namespace feedrate::fused {
namespace {

constexpr ImageSize kSide = {256, 256};
constexpr ImageSize kCrop = {224, 224};
constexpr ImageSize kPhoto = {375, 500};

class Timings {
 public:
  Timings(int batch, int samples, std::string filter)
      : batch_(batch),
        samples_(samples),
        filter_(std::move(filter)),
        random_(1),
        copy_(CopyBytesPerSecond()),
        from_(kMostBytes),
        to_(kMostBytes) {
    std::printf("copy %.3f TB/s, read and written\n", copy_ * 1e-12);
    std::printf("%-44s %10s %10s %10s %8s %8s %8s\n",
                "images/s, batch of images", "cold", "hot", "limit", "of limit",
                "of copy", "spread");
  }

  void Recipes();
  void Planes();
  void Bytes();

 private:
  static constexpr size_t kMostBytes = size_t{1} << 29;

  // `bytes` is what must move per image.
  void Time(const std::string& name, double bytes,
            const std::function<cudaError_t()>& launch);
  RecipeBatch Batch(Sampling sampling);
  void TimeRecipe(const std::string& name, const ByteBatch& in, ImageSize size,
                  RecipeBatch batch, bool jitter);

  int batch_;
  int samples_;
  std::string filter_;
  std::mt19937 random_;
  double copy_;
  // For copies of as many bytes as a kernel moves: short ones do not reach the
  // speed of long ones.
  Buffer<uint8_t> from_;
  Buffer<uint8_t> to_;
};

void Timings::Time(const std::string& name, double bytes,
                   const std::function<cudaError_t()>& launch) {
  if (name.find(filter_) == std::string::npos) return;
  const auto checked = [&] { CHECK_CUDA(launch()); };
  const Timing cold = TimeLaunch(checked, true, samples_);
  const Timing hot = TimeLaunch(checked, false, samples_);
  const size_t copied = std::min<size_t>(bytes / 2 * batch_, kMostBytes);
  const Timing copy = TimeLaunch(
      [&] {
        CHECK_CUDA(cudaMemcpyAsync(to_.data(), from_.data(), copied,
                                   cudaMemcpyDeviceToDevice));
      },
      true, samples_);
  const double limit = copy_ / bytes;
  std::printf("%-44s %10.0f %10.0f %10.0f %7.1f%% %7.1f%% %7.1f%%\n",
              name.c_str(), batch_ / cold.median_s, batch_ / hot.median_s,
              limit, 100 * batch_ / cold.median_s / limit,
              100 * copy.median_s / cold.median_s,
              100 * (cold.high_s - cold.low_s) / cold.median_s);
  std::fflush(stdout);
}

std::vector<HostImage> SomeImages(ImageSize size, int count,
                                  std::mt19937* random) {
  std::vector<HostImage> few;
  for (int i = 0; i < 4; ++i) few.push_back(RandomImage(size, random));
  std::vector<HostImage> images;
  for (int i = 0; i < count; ++i) images.push_back(few[i % 4]);
  return images;
}

void Timings::TimeRecipe(const std::string& name, const ByteBatch& in,
                         ImageSize size, RecipeBatch batch, bool jitter) {
  std::vector<Recipe> recipes;
  double window_bytes = 0;
  for (int i = 0; i < batch_; ++i) {
    Recipe recipe;
    recipe.flip = static_cast<int>(random_() % 2);
    recipe.window = batch.sampling == Sampling::kCrop
                        ? RandomCrop(size, kCrop, &random_)
                        : RandomWindow(size, &random_);
    if (jitter) recipe.jitter = RandomJitter(&random_);
    if (batch.thirds) recipe.third = static_cast<Third>(1 + i % 3);
    recipe.sigma = 0.1f + 1.9f * static_cast<float>(i) / batch_;
    if (batch.mixes) {
      recipe.mix.partner = batch_ - 1 - i;
      recipe.mix.own = 0.8f;
    }
    window_bytes += 3.0 * recipe.window.height * recipe.window.width;
    recipes.push_back(recipe);
  }
  const Buffer<Recipe> recipes_d(recipes);
  const int element = batch.element == Element::kFloat32 ? 4 : 2;
  const double out_bytes = 3.0 * kCrop.height * kCrop.width * element;
  const Buffer<uint8_t> out(static_cast<size_t>(out_bytes) * batch_);
  batch.images = in.device();
  batch.recipes = recipes_d.data();
  batch.count = batch_;
  batch.out = out.data();
  batch.height = kCrop.height;
  batch.width = kCrop.width;
  batch.colors = jitter;
  for (int c = 0; c < 3; ++c) {
    batch.mean[c] = 0.45f;
    batch.std[c] = 0.225f;
  }
  Time(name, window_bytes / batch_ + out_bytes,
       [&] { return RunRecipe(batch, nullptr); });
}

void Timings::Recipes() {
  ByteBatch small(std::vector<ImageSize>(batch_, kSide), false);
  small.Fill(SomeImages(kSide, batch_, &random_));
  RecipeBatch batch;
  TimeRecipe("crop flip normalize f32", small, kSide, batch, false);
  batch.element = Element::kFloat16;
  TimeRecipe("crop flip normalize f16", small, kSide, batch, false);
  batch.element = Element::kBfloat16;
  TimeRecipe("crop flip normalize bf16", small, kSide, batch, false);
  batch.element = Element::kFloat32;
  batch.mixes = true;
  TimeRecipe("crop flip normalize mixup f32", small, kSide, batch, false);
  batch.mixes = false;
  TimeRecipe("crop flip jitter normalize f32", small, kSide, batch, true);
  batch.thirds = true;
  TimeRecipe("crop flip three jitter normalize f32", small, kSide, batch, true);
  batch.mixes = true;
  TimeRecipe("crop flip three jitter mixup f32", small, kSide, batch, true);
  ByteBatch photos(std::vector<ImageSize>(batch_, kPhoto), false);
  photos.Fill(SomeImages(kPhoto, batch_, &random_));
  for (const Sampling sampling : {Sampling::kBilinear, Sampling::kAntialias}) {
    RecipeBatch resized;
    resized.sampling = sampling;
    const std::string name = sampling == Sampling::kBilinear
                                 ? "resized crop"
                                 : "resized crop antialias";
    TimeRecipe(name + " flip normalize f32", photos, kPhoto, resized, false);
    TimeRecipe(name + " flip jitter norm. f32", photos, kPhoto, resized, true);
    resized.element = Element::kBfloat16;
    TimeRecipe(name + " flip jitter norm. bf16", photos, kPhoto, resized, true);
  }
}

void Timings::Planes() {
  const std::vector<float> values =
      PlanesOf(SomeImages(kSide, batch_, &random_));
  const Buffer<float> in(values);
  const Buffer<float> out(values.size() * 4);
  const fused::Planes planes = {in.data(), batch_, kSide.height, kSide.width};
  const double bytes = 2.0 * 4 * 3 * kSide.height * kSide.width;
  std::vector<Jitter> jitters;
  std::vector<Projection> affine;
  for (int i = 0; i < batch_; ++i) {
    jitters.push_back(RandomJitter(&random_));
    affine.push_back(AffineProjection(RandomAffine(kSide, &random_),
                                      kSide.height, kSide.width));
  }
  const Buffer<Projection> affine_d(affine);
  const Buffer<float> sigmas_d(std::vector<float>(batch_, 2.0f));
  const auto jitter = [&](const std::string& name, bool has_contrast) {
    const Buffer<Jitter> jitters_d(jitters);
    Time(name, bytes, [&] {
      return JitterPlanes(planes, jitters_d.data(), has_contrast, out.data(),
                          nullptr);
    });
  };
  jitter("color jitter f32 256x256", true);
  for (Jitter& each : jitters) each = WithoutContrast(each);
  jitter("color jitter f32 256x256, no contrast", false);
  WarpTextures textures;
  CHECK_CUDA(MakeWarpTextures(planes, &textures));
  const auto warp = [&](const std::string& name, WarpPath path) {
    Time(name, bytes, [&, path] {
      return WarpPlanes(planes, affine_d.data(), textures, Edge::kZero, path,
                        out.data(), nullptr);
    });
  };
  warp("affine bilinear f32 256x256, quads", WarpPath::kQuads);
  warp("affine bilinear f32 256x256, filtered", WarpPath::kFiltered);
  FreeWarpTextures(&textures);
  for (const int radius : {1, 2, 3, 6}) {
    Time("gaussian blur f32 256x256, radius " + std::to_string(radius), bytes,
         [&, radius] {
           return BlurPlanes(planes, sigmas_d.data(), radius, out.data(),
                             nullptr);
         });
  }
  Time("resize f32 256 to 512", bytes / 2 * 5,
       [&] { return ResizePlanes(planes, 512, 512, out.data(), nullptr); });
  Time("resize f32 256 to 128", bytes / 2 * 1.25,
       [&] { return ResizePlanes(planes, 128, 128, out.data(), nullptr); });
}

void Timings::Bytes() {
  const std::vector<ImageSize> sizes(batch_, kSide);
  ByteBatch in(sizes, false);
  ByteBatch out(sizes, false);
  in.Fill(SomeImages(kSide, batch_, &random_));
  const ImageSize twice = {2 * kSide.height, 2 * kSide.width};
  ByteBatch large(std::vector<ImageSize>(batch_, twice), false);
  const double bytes = 2.0 * 3 * kSide.height * kSide.width;
  std::vector<Jitter> jitters;
  std::vector<Projection> affine;
  for (int i = 0; i < batch_; ++i) {
    jitters.push_back(RandomJitter(&random_));
    affine.push_back(AffineProjection(RandomAffine(kSide, &random_),
                                      kSide.height, kSide.width));
  }
  const Buffer<Projection> affine_d(affine);
  const Buffer<Projection> flip_d(
      std::vector<Projection>(batch_, CropProjection(0, 0, kSide.width, true)));
  const Buffer<Projection> resize_d(std::vector<Projection>(
      batch_,
      ResizeProjection(kSide.height, kSide.width, twice.height, twice.width)));
  const Buffer<float> amounts_d(std::vector<float>(batch_, 4.0f));
  const auto jitter = [&](const std::string& name, bool has_contrast) {
    const Buffer<Jitter> jitters_d(jitters);
    Time(name, bytes, [&] {
      return JitterBytes(in.device(), jitters_d.data(), batch_, has_contrast,
                         out.device(), nullptr);
    });
  };
  jitter("color jitter bytes", true);
  for (Jitter& each : jitters) each = WithoutContrast(each);
  jitter("color jitter bytes, no contrast", false);
  // As rows of micro have it.
  for (Jitter& each : jitters) {
    each.steps = StepsOf(kBrightness, kSaturation, 0, 0);
  }
  jitter("brightness, saturation bytes", false);
  const auto warp = [&](const std::string& name, double moved,
                        const Buffer<Projection>& projections, Edge edge,
                        const ByteBatch& to, ImageSize size) {
    Time(name, moved, [&, edge] {
      return WarpBytes(in.device(), projections.data(), batch_, edge,
                       to.device(), size.height, size.width, nullptr);
    });
  };
  warp("affine bilinear bytes", bytes, affine_d, Edge::kZero, out, kSide);
  warp("flip bytes", bytes, flip_d, Edge::kZero, out, kSide);
  warp("resize bytes 256 to 512", bytes / 2 * 5, resize_d, Edge::kReplicate,
       large, twice);
  for (const int radius : {1, 2, 6}) {
    Time("gaussian blur bytes, radius " + std::to_string(radius), bytes,
         [&, radius] {
           return BlurBytes(in.device(), amounts_d.data(), batch_, radius,
                            out.device(), kSide.height, kSide.width, nullptr);
         });
  }
  Time("posterize bytes", bytes, [&] {
    return ToneBytes(in.device(), Tone::kPosterize, amounts_d.data(), batch_,
                     out.device(), nullptr);
  });
  Time("solarize bytes", bytes, [&] {
    return ToneBytes(in.device(), Tone::kSolarize, amounts_d.data(), batch_,
                     out.device(), nullptr);
  });
  Time("equalize bytes", bytes, [&] {
    return EqualizeBytes(in.device(), batch_, out.device(), nullptr);
  });
}

}  // namespace

void RunTimings(int batch, int samples, const std::string& filter) {
  Timings timings(batch, samples, filter);
  timings.Recipes();
  timings.Planes();
  timings.Bytes();
}

}  // namespace feedrate::fused
