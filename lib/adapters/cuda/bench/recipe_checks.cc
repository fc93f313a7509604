#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "lib/adapters/cuda/bench/checker.h"
#include "lib/adapters/cuda/bench/samples.h"

namespace feedrate::fused {
namespace {

float AsFloat(float value) { return value; }
float AsFloat(__half value) { return __half2float(value); }
float AsFloat(__nv_bfloat16 value) { return __bfloat162float(value); }

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

// Samples as they lie in the output: number i at places[i].
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

}  // namespace

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
    // Some are cut off earlier than they need be.
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
  if (batch.colours) {
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
  // A byte's step, amplified by jitter; a blur may be one step off more often.
  const bool bytes_again =
      batch.sampling != Sampling::kCrop || batch.colours || batch.thirds;
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
  tolerance.value += tolerance.rounding;
  Compare(name, expected, actual, tolerance);
}

void Checker::Recipes() {
  const ImageSize usual = {224, 224};
  const ImageSize odd = {101, 75};
  for (const int quads : {1, 2, 4, 7}) {
    RecipeBatch batch;
    batch.quads_per_thread = quads;
    RecipeOp("crop, " + std::to_string(quads) + " quads", batch, usual);
  }
  RecipeBatch plain;
  RecipeOp("crop to odd size", plain, odd);
  plain.element = Element::kFloat16;
  RecipeOp("crop to float16", plain, usual);
  plain.element = Element::kBfloat16;
  RecipeOp("crop to bfloat16", plain, usual);
  plain.element = Element::kFloat32;
  plain.mixes = true;
  RecipeOp("crop, mixup and cutmix", plain, usual);
  for (const Sampling sampling :
       {Sampling::kCrop, Sampling::kBilinear, Sampling::kAntialias}) {
    RecipeBatch batch;
    batch.sampling = sampling;
    const std::string name = std::vector<std::string>{
        "crop", "bilinear", "antialias"}[static_cast<int>(sampling)];
    if (sampling != Sampling::kCrop) {
      RecipeOp(name, batch, usual);
      RecipeOp(name + " to odd size", batch, odd);
    }
    batch.colours = true;
    RecipeOp(name + ", jitter", batch, usual);
    batch.thirds = true;
    RecipeOp(name + ", three, jitter", batch, usual);
    batch.mixes = true;
    RecipeOp(name + ", three, jitter, mixes", batch, usual);
    RecipeOp(name + ", all, to odd size", batch, odd);
    batch.element = Element::kBfloat16;
    RecipeOp(name + ", all, to bfloat16", batch, usual);
  }
}

}  // namespace feedrate::fused
