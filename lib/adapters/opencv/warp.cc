#include "lib/adapters/opencv/warp.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "lib/adapters/opencv/words.h"
#include "opencv2/core.hpp"
#include "opencv2/imgproc.hpp"

namespace feedrate {
namespace {

constexpr double kRadians = CV_PI / 180;

// In pixels whose centres are at whole coordinates.
cv::Point2d Centre(const cv::Mat& image) {
  return {(image.cols - 1) / 2.0, (image.rows - 1) / 2.0};
}

Op Rotate(Params* params) {
  const Range angle = params->Draw("angle");
  const int interpolation = ReadInterpolation(params);
  const Outside outside = ReadOutside(params);
  return [=](const cv::Mat& in, Random* random, cv::Mat* out) {
    const cv::Mat matrix =
        cv::getRotationMatrix2D(Centre(in), random->Uniform(angle), 1);
    cv::warpAffine(in, *out, matrix, in.size(), interpolation, outside.border,
                   outside.fill);
  };
}

struct AffineSettings {
  Range rotate;
  Range scale;
  std::vector<double> shear = {0, 0};
  std::vector<double> translate = {0, 0};
};

// Where a pixel of the input goes.
cv::Matx23d AffineMatrix(const AffineSettings& settings, cv::Point2d centre,
                         Random* random) {
  const double angle = random->Uniform(settings.rotate) * kRadians;
  const double scale = random->Uniform(settings.scale);
  const double cos = scale * std::cos(angle), sin = scale * std::sin(angle);
  // Rows count downwards: counter-clockwise is this way round, and what is
  // above the centre is sheared to the right.
  const double shear_x = -std::tan(settings.shear[0] * kRadians);
  const double shear_y = -std::tan(settings.shear[1] * kRadians);
  cv::Matx23d m(cos + sin * shear_y, cos * shear_x + sin, 0,
                -sin + cos * shear_y, -sin * shear_x + cos, 0);
  m(0, 2) = centre.x + settings.translate[0] - m(0, 0) * centre.x -
            m(0, 1) * centre.y;
  m(1, 2) = centre.y + settings.translate[1] - m(1, 0) * centre.x -
            m(1, 1) * centre.y;
  return m;
}

Op Affine(Params* params) {
  AffineSettings settings;
  settings.rotate = params->DrawOr("rotate", 0);
  settings.scale = params->DrawOr("scale", 1);
  if (params->Has("shear")) settings.shear = params->Tuple("shear", 2);
  if (params->Has("translate_px")) {
    settings.translate = params->Tuple("translate_px", 2);
  }
  const int interpolation = ReadInterpolation(params);
  const Outside outside = ReadOutside(params);
  return [=](const cv::Mat& in, Random* random, cv::Mat* out) {
    cv::warpAffine(in, *out, AffineMatrix(settings, Centre(in), random),
                   in.size(), interpolation, outside.border, outside.fill);
  };
}

Op RandomPerspective(Params* params) {
  const Range scale = params->Draw("scale");
  const int interpolation = ReadInterpolation(params);
  const Outside outside = ReadOutside(params);
  return [=](const cv::Mat& in, Random* random, cv::Mat* out) {
    const double sigma = random->Uniform(scale);
    const auto inwards = [&](int side) {
      // Corners that meet in the middle would make no quadrangle.
      return static_cast<float>(
          std::min(0.49, std::abs(sigma * random->Normal())) * side);
    };
    const float right = in.cols - 1, bottom = in.rows - 1;
    const cv::Point2f to[] = {{0, 0}, {right, 0}, {right, bottom}, {0, bottom}};
    const cv::Point2f from[] = {
        {inwards(in.cols), inwards(in.rows)},
        {right - inwards(in.cols), inwards(in.rows)},
        {right - inwards(in.cols), bottom - inwards(in.rows)},
        {inwards(in.cols), bottom - inwards(in.rows)}};
    cv::warpPerspective(in, *out, cv::getPerspectiveTransform(from, to),
                        in.size(), interpolation, outside.border, outside.fill);
  };
}

Op Perspective(Params* params) {
  const std::vector<double> h = params->Tuple("matrix", 8);
  const int interpolation = ReadInterpolation(params);
  const Outside outside = ReadOutside(params);
  const cv::Matx33d matrix(h[0], h[1], h[2], h[3], h[4], h[5], h[6], h[7], 1);
  return [=](const cv::Mat& in, Random*, cv::Mat* out) {
    cv::warpPerspective(in, *out, matrix, in.size(),
                        interpolation | cv::WARP_INVERSE_MAP, outside.border,
                        outside.fill);
  };
}

}  // namespace

const OpTable& WarpOps() {
  static const auto* const ops = new OpTable{
      {"cv::getRotationMatrix2D+cv::warpAffine", Rotate},
      {"cv::warpAffine", Affine},
      {"cv::getPerspectiveTransform+cv::warpPerspective", RandomPerspective},
      {"cv::warpPerspective", Perspective},
  };
  return *ops;
}

}  // namespace feedrate
