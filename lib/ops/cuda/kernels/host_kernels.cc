#include "lib/ops/cuda/kernels/host_kernels.h"

#include <array>
#include <cmath>

#include "lib/ops/cuda/kernels/blur_math.h"

namespace feedrate::fused {
namespace {

Rgb ColorAt(const HostImage& image, int y, int x) {
  return {image.at(y, x, 0) / 255, image.at(y, x, 1) / 255,
          image.at(y, x, 2) / 255};
}

float TapAt(const HostImage& image, int y, int x, int c, Edge edge) {
  const int row = InsideOf(y, image.height, edge);
  const int column = InsideOf(x, image.width, edge);
  return row < 0 || column < 0 ? 0 : image.at(row, column, c);
}

}  // namespace

HostImage Rounded(HostImage image) {
  for (float& value : image.values) value = ToByte(value);
  return image;
}

HostImage HostJitter(const HostImage& image, const Jitter& jitter) {
  double sum = 0;
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      sum += LumaOf(BeforeContrast(jitter, ColorAt(image, y, x)));
    }
  }
  const auto mean = static_cast<float>(sum / image.height / image.width);
  HostImage result(image.height, image.width);
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      const Rgb c = Jittered(jitter, ColorAt(image, y, x), mean);
      result.at(y, x, 0) = 255 * c.r;
      result.at(y, x, 1) = 255 * c.g;
      result.at(y, x, 2) = 255 * c.b;
    }
  }
  return result;
}

HostImage HostWarp(const HostImage& image, const Projection& projection,
                   Edge edge, int height, int width) {
  return MakeImage(height, width, [&](int y, int x, int c) {
    const Corner at = CornerOf(ReadPlace(projection, x, y));
    return Between(Between(TapAt(image, at.y, at.x, c, edge),
                           TapAt(image, at.y, at.x + 1, c, edge), at.right),
                   Between(TapAt(image, at.y + 1, at.x, c, edge),
                           TapAt(image, at.y + 1, at.x + 1, c, edge), at.right),
                   at.below);
  });
}

HostImage HostBlur(const HostImage& image, float sigma, int radius) {
  float weights[kMaxBlurRadius + 1];
  GaussianWeights(sigma, radius, weights);
  const auto pass = [&](const HostImage& from, int dy, int dx) {
    return MakeImage(from.height, from.width, [&](int y, int x, int c) {
      float sum = 0;
      for (int j = -radius; j <= radius; ++j) {
        sum += weights[std::abs(j)] *
               TapAt(from, y + j * dy, x + j * dx, c, Edge::kReflect);
      }
      return sum;
    });
  };
  return pass(pass(image, 0, 1), 1, 0);
}

HostImage HostTone(const HostImage& image, Tone tone, float amount) {
  return MakeImage(image.height, image.width, [&](int y, int x, int c) {
    return ToneOf(static_cast<uint8_t>(image.at(y, x, c)), tone, amount);
  });
}

HostImage HostEqualize(const HostImage& image) {
  std::array<std::array<uint32_t, 256>, 3> counts = {};
  const uint32_t pixels = image.height * image.width;
  for (size_t i = 0; i < image.values.size(); ++i) {
    ++counts[i % 3][static_cast<int>(image.values[i])];
  }
  std::array<std::array<float, 256>, 3> tables;
  for (int c = 0; c < 3; ++c) {
    int greatest = 255;
    while (counts[c][greatest] == 0) --greatest;
    const uint32_t step = EqualizeStep(pixels, counts[c][greatest]);
    uint32_t below = 0;
    for (int v = 0; v < 256; ++v) {
      tables[c][v] = step == 0 ? v : EqualizedValue(below, step);
      below += counts[c][v];
    }
  }
  return MakeImage(image.height, image.width, [&](int y, int x, int c) {
    return tables[c][static_cast<int>(image.at(y, x, c))];
  });
}

namespace {

float Antialiased(const HostImage& image, const Window& window,
                  const Taps& rows, const Taps& columns, int c) {
  double sum = 0;
  for (int i = 0; i < rows.count; ++i) {
    for (int j = 0; j < columns.count; ++j) {
      sum += static_cast<double>(TapWeight(rows, i)) * TapWeight(columns, j) *
             image.at(window.top + rows.first + i,
                      window.left + columns.first + j, c);
    }
  }
  return static_cast<float>(sum / TapSum(rows) / TapSum(columns));
}

HostImage WindowOnly(const HostImage& image, const Recipe& recipe,
                     Sampling sampling, int height, int width) {
  const Window& window = recipe.window;
  if (sampling == Sampling::kCrop) {
    return HostWarp(
        image, CropProjection(window.top, window.left, width, recipe.flip != 0),
        Edge::kZero, height, width);
  }
  HostImage part =
      MakeImage(window.height, window.width, [&](int y, int x, int c) {
        return image.at(window.top + y, window.left + x, c);
      });
  const auto column = [&](int x) { return recipe.flip ? width - 1 - x : x; };
  if (sampling == Sampling::kBilinear) {
    const HostImage plain =
        HostWarp(part, ResizeProjection(part.height, part.width, height, width),
                 Edge::kReplicate, height, width);
    return MakeImage(height, width, [&](int y, int x, int c) {
      return plain.at(y, column(x), c);
    });
  }
  const float step_y = static_cast<float>(window.height) / height;
  const float step_x = static_cast<float>(window.width) / width;
  return MakeImage(height, width, [&](int y, int x, int c) {
    return Antialiased(image, window, AntialiasTaps(y, step_y, window.height),
                       AntialiasTaps(column(x), step_x, window.width), c);
  });
}

}  // namespace

HostImage HostWindow(const HostImage& image, const Recipe& recipe,
                     Sampling sampling, int height, int width) {
  HostImage result =
      Rounded(WindowOnly(image, recipe, sampling, height, width));
  if (recipe.third == Third::kGrayscale) {
    Jitter gray;
    gray.saturation = 0;
    gray.steps = kSaturation;
    return Rounded(HostJitter(result, gray));
  }
  if (recipe.third == Third::kSolarize) {
    return HostTone(result, Tone::kSolarize, 128);
  }
  if (recipe.third == Third::kBlur) {
    const int radius =
        recipe.radius > 0 ? recipe.radius : RadiusOf(recipe.sigma);
    return Rounded(HostBlur(result, recipe.sigma, radius));
  }
  return result;
}

std::vector<float> HostRecipe(const std::vector<HostImage>& images,
                              const std::vector<Recipe>& recipes,
                              const RecipeBatch& batch) {
  std::vector<HostImage> made;
  for (size_t i = 0; i < images.size(); ++i) {
    HostImage image =
        HostJitter(HostWindow(images[i], recipes[i], batch.sampling,
                              batch.height, batch.width),
                   recipes[i].jitter);
    const Window& erase = recipes[i].erase;
    made.push_back(
        MakeImage(batch.height, batch.width, [&](int y, int x, int c) {
          const bool erased = y >= erase.top && y < erase.top + erase.height &&
                              x >= erase.left && x < erase.left + erase.width;
          const float value = image.at(y, x, c) / 255;
          return erased ? 0 : (value - batch.mean[c]) / batch.std[c];
        }));
  }
  const int64_t plane = int64_t{batch.height} * batch.width;
  std::vector<float> out(made.size() * 3 * plane);
  for (size_t i = 0; i < made.size(); ++i) {
    const Mix& mix = recipes[i].mix;
    for (int64_t at = 0; at < 3 * plane; ++at) {
      const int c = static_cast<int>(batch.pixels ? at % 3 : at / plane);
      const int64_t pixel = batch.pixels ? at / 3 : at % plane;
      const int y = static_cast<int>(pixel / batch.width);
      const int x = static_cast<int>(pixel % batch.width);
      float value = made[i].at(y, x, c);
      if (mix.partner >= 0) {
        const float part = OwnPart(mix, y, x);
        value = part * value + (1 - part) * made[mix.partner].at(y, x, c);
      }
      if (batch.element == Element::kUint8) value = ToByte(value);
      out[i * 3 * plane + at] = value;
    }
  }
  return out;
}

}  // namespace feedrate::fused
