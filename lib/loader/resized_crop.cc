#include "lib/loader/resized_crop.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "lib/media/jpeg_region_options.h"

namespace feedrate {
namespace {

constexpr int kTries = 10;

// Two numbers, the second not below the first, of `(0.08,1.0)`.
bool ParsePair(absl::string_view text, double* least, double* most) {
  if (!absl::ConsumePrefix(&text, "(") || !absl::ConsumeSuffix(&text, ")")) {
    return false;
  }
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ',');
  return parts.size() == 2 && absl::SimpleAtod(parts[0], least) &&
         absl::SimpleAtod(parts[1], most) && *least > 0 && *most >= *least;
}

// As large as the ratios allow.
JpegRegion Centre(const ResizedCrop& crop, int height, int width) {
  JpegRegion region;
  region.width =
      std::min(width, static_cast<int>(std::lround(height * crop.most_ratio)));
  region.height =
      std::min(height, static_cast<int>(std::lround(width / crop.least_ratio)));
  region.x = (width - region.width) / 2;
  region.y = (height - region.height) / 2;
  return region;
}

bool Consume(absl::string_view* text, absl::string_view a,
             absl::string_view b) {
  return absl::ConsumePrefix(text, a) || absl::ConsumePrefix(text, b);
}

}  // namespace

std::optional<ResizedCrop> ResizedCropOf(
    const std::vector<std::string>& params) {
  ResizedCrop crop;
  bool has_scale = false;
  for (const std::string& param : params) {
    absl::string_view value = param;
    if (Consume(&value, "scale=", "random_area=")) {
      has_scale = ParsePair(value, &crop.least_area, &crop.most_area);
      if (!has_scale) return std::nullopt;
    } else if (Consume(&value, "ratio=", "random_aspect_ratio=") &&
               !ParsePair(value, &crop.least_ratio, &crop.most_ratio)) {
      return std::nullopt;
    }
  }
  if (!has_scale) return std::nullopt;
  return crop;
}

JpegRegion DrawResizedCrop(const ResizedCrop& crop, int height, int width,
                           std::mt19937_64* random) {
  std::uniform_real_distribution<double> unit(0, 1);
  const double low = std::log(crop.least_ratio);
  const double high = std::log(crop.most_ratio);
  for (int i = 0; i < kTries; ++i) {
    const double part =
        crop.least_area + unit(*random) * (crop.most_area - crop.least_area);
    const double area = part * height * width;
    const double ratio = std::exp(low + unit(*random) * (high - low));
    const int w = static_cast<int>(std::lround(std::sqrt(area * ratio)));
    const int h = static_cast<int>(std::lround(std::sqrt(area / ratio)));
    if (w < 1 || h < 1 || w > width || h > height) continue;
    JpegRegion region;
    region.x = static_cast<int>((*random)() % (width - w + 1));
    region.y = static_cast<int>((*random)() % (height - h + 1));
    region.width = w;
    region.height = h;
    return region;
  }
  return Centre(crop, height, width);
}

}  // namespace feedrate
