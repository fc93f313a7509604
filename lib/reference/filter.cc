#include "lib/reference/filter.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "lib/reference/pixels.h"

namespace feedrate {

int InsideIndex(int at, int size, Border border) {
  if (border == Border::kReplicate || size == 1) {
    return std::clamp(at, 0, size - 1);
  }
  while (at < 0 || at >= size) {
    if (at < 0) at = -at;
    if (at >= size) at = 2 * (size - 1) - at;
  }
  return at;
}

Kernel GaussianKernel(int size, double sigma) {
  Kernel kernel{size, size, {}};
  const int half = size / 2;
  double sum = 0;
  for (int y = -half; y <= half; ++y) {
    for (int x = -half; x <= half; ++x) {
      kernel.weights.push_back(
          std::exp(-(x * x + y * y) / (2 * sigma * sigma)));
      sum += kernel.weights.back();
    }
  }
  for (double& weight : kernel.weights) weight /= sum;
  return kernel;
}

Kernel BoxKernel(int height, int width) {
  return {height, width,
          std::vector<double>(static_cast<size_t>(height) * width,
                              1.0 / (height * width))};
}

Pixels Filter(const Pixels& image, const Kernel& kernel, Border border) {
  Pixels result(image.height, image.width, image.channels);
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      for (int i = 0; i < kernel.height; ++i) {
        const int row =
            InsideIndex(y + i - kernel.height / 2, image.height, border);
        for (int j = 0; j < kernel.width; ++j) {
          const int column =
              InsideIndex(x + j - kernel.width / 2, image.width, border);
          const double weight = kernel.weights[i * kernel.width + j];
          for (int c = 0; c < image.channels; ++c) {
            result.at(y, x, c) += weight * image.at(row, column, c);
          }
        }
      }
    }
  }
  return MapValues(result, Saturate);
}

Pixels Median(const Pixels& image, int size, Border border) {
  Pixels result(image.height, image.width, image.channels);
  const int half = size / 2;
  std::vector<double> around;
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      for (int c = 0; c < image.channels; ++c) {
        around.clear();
        for (int i = -half; i <= half; ++i) {
          const int row = InsideIndex(y + i, image.height, border);
          for (int j = -half; j <= half; ++j) {
            around.push_back(
                image.at(row, InsideIndex(x + j, image.width, border), c));
          }
        }
        const auto middle = around.begin() + around.size() / 2;
        std::nth_element(around.begin(), middle, around.end());
        result.at(y, x, c) = *middle;
      }
    }
  }
  return result;
}

Pixels Sharpen(const Pixels& image, double factor) {
  Kernel smooth = BoxKernel(3, 3);
  for (double& weight : smooth.weights) weight = 1.0 / 13;
  smooth.weights[4] = 5.0 / 13;
  const Pixels smoothed = Filter(image, smooth, Border::kReflect);
  Pixels result = image;
  for (int y = 1; y < image.height - 1; ++y) {
    for (int x = 1; x < image.width - 1; ++x) {
      for (int c = 0; c < image.channels; ++c) {
        const double from = smoothed.at(y, x, c);
        result.at(y, x, c) =
            Saturate(from + factor * (image.at(y, x, c) - from));
      }
    }
  }
  return result;
}

Pixels UnsharpMask(const Pixels& image, int size, double sigma, double amount,
                   double threshold) {
  const Pixels blurred =
      Filter(image, GaussianKernel(size, sigma), Border::kReflect);
  Pixels result = image;
  for (size_t i = 0; i < result.values.size(); ++i) {
    const double difference = image.values[i] - blurred.values[i];
    if (std::abs(difference) <= threshold) continue;
    result.values[i] = Saturate(image.values[i] + amount * difference);
  }
  return result;
}

}  // namespace feedrate
