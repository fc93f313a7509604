// OpenCV operations that move pixels.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "lib/ops/opencv/op.h"
#include "opencv2/core.hpp"
#include "opencv2/imgproc.hpp"

namespace feedrate {
namespace {

Op Flip(Params* params) {
  const int code = params->Integer("flip_code");
  return [code](const cv::Mat& in, Random*, cv::Mat* out) {
    cv::flip(in, *out, code);
  };
}

Op Transpose(Params*) {
  return
      [](const cv::Mat& in, Random*, cv::Mat* out) { cv::transpose(in, *out); };
}

Op Rotate90(Params* params) {
  const Range times = params->DrawInteger("times");
  return [times](const cv::Mat& in, Random* random, cv::Mat* out) {
    constexpr cv::RotateFlags kTurns[] = {cv::ROTATE_90_COUNTERCLOCKWISE,
                                          cv::ROTATE_180,
                                          cv::ROTATE_90_CLOCKWISE};
    const int64_t turns = random->Integer(times) & 3;
    if (turns == 0) {
      in.copyTo(*out);
    } else {
      cv::rotate(in, *out, kTurns[turns - 1]);
    }
  };
}

Op Pad(Params* params) {
  const int padding = params->Integer("padding");
  const Outside outside = ReadOutside(params);
  if (padding < 0) params->Fail("padding", "is below 0");
  return [padding, outside](const cv::Mat& in, Random*, cv::Mat* out) {
    cv::copyMakeBorder(in, *out, padding, padding, padding, padding,
                       outside.border, outside.fill);
  };
}

// Tiles of equal size swap places; what the grid does not cover stays.
class Jigsaw {
 public:
  Jigsaw(int rows, int columns, std::vector<int> order)
      : rows_(rows), columns_(columns), order_(std::move(order)) {
    random_ = order_.empty();
    order_.resize(rows * columns);
  }

  void operator()(const cv::Mat& in, Random* random, cv::Mat* out) {
    if (random_) {
      // From the same start, so that a seed gives the same order in every call.
      std::iota(order_.begin(), order_.end(), 0);
      random->Shuffle(&order_);
    }
    const cv::Size tile(in.cols / columns_, in.rows / rows_);
    in.copyTo(*out);
    if (tile.empty()) return;
    for (int i = 0; i < rows_ * columns_; ++i) {
      in(Place(order_[i], tile)).copyTo((*out)(Place(i, tile)));
    }
  }

 private:
  cv::Rect Place(int index, const cv::Size& tile) const {
    return cv::Rect(index % columns_ * tile.width,
                    index / columns_ * tile.height, tile.width, tile.height);
  }

  int rows_;
  int columns_;
  std::vector<int> order_;
  bool random_;
};

// Whether `order` contains each of `count` places once.
bool IsPermutation(const std::vector<double>& order, int count) {
  std::vector<bool> seen(count, false);
  for (double place : order) {
    const int index = cvRound(place);
    if (index != place || index < 0 || index >= count || seen[index]) {
      return false;
    }
    seen[index] = true;
  }
  return order.size() == static_cast<size_t>(count);
}

Op MakeJigsaw(Params* params) {
  const std::vector<double> grid = params->Tuple("grid", 2);
  const int rows = cvRound(grid[0]), columns = cvRound(grid[1]);
  if (rows < 1 || columns < 1 || rows > 64 || columns > 64) {
    params->Fail("grid", "must be of 1 to 64 rows and columns");
    return nullptr;
  }
  std::vector<double> order;
  if (params->Has("order")) {
    order = params->Tuple("order");
    if (!IsPermutation(order, rows * columns)) {
      params->Fail("order", "must name each tile once, from 0");
      return nullptr;
    }
  }
  return Jigsaw(rows, columns, std::vector<int>(order.begin(), order.end()));
}

constexpr double kRadians = CV_PI / 180;

// In pixels whose centers are at integer coordinates.
cv::Point2d Center(const cv::Mat& image) {
  return {(image.cols - 1) / 2.0, (image.rows - 1) / 2.0};
}

Op Rotate(Params* params) {
  const Range angle = params->Draw("angle");
  const int interpolation = ReadInterpolation(params);
  const Outside outside = ReadOutside(params);
  return [=](const cv::Mat& in, Random* random, cv::Mat* out) {
    const cv::Mat matrix =
        cv::getRotationMatrix2D(Center(in), random->Uniform(angle), 1);
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

// Maps a pixel of the input to the output.
cv::Matx23d AffineMatrix(const AffineSettings& settings, cv::Point2d center,
                         Random* random) {
  const double angle = random->Uniform(settings.rotate) * kRadians;
  const double scale = random->Uniform(settings.scale);
  const double cos = scale * std::cos(angle), sin = scale * std::sin(angle);
  // Rows count downwards, which gives these signs: counter-clockwise, and what
  // is above the center is sheared to the right.
  const double shear_x = -std::tan(settings.shear[0] * kRadians);
  const double shear_y = -std::tan(settings.shear[1] * kRadians);
  cv::Matx23d m(cos + sin * shear_y, cos * shear_x + sin, 0,
                -sin + cos * shear_y, -sin * shear_x + cos, 0);
  m(0, 2) = center.x + settings.translate[0] - m(0, 0) * center.x -
            m(0, 1) * center.y;
  m(1, 2) = center.y + settings.translate[1] - m(1, 0) * center.x -
            m(1, 1) * center.y;
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
    cv::warpAffine(in, *out, AffineMatrix(settings, Center(in), random),
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
      // Corners that meet in the middle would not form a quadrangle.
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

// Where each pixel is read.
void FillLensMap(float distort, cv::Mat* map) {
  const float middle_x = map->cols / 2.0f, middle_y = map->rows / 2.0f;
  const float per_square =
      distort / (middle_x * middle_x + middle_y * middle_y);
  for (int y = 0; y < map->rows; ++y) {
    auto* row = map->ptr<cv::Vec2f>(y);
    const float dy = y - middle_y;
    for (int x = 0; x < map->cols; ++x) {
      const float dx = x - middle_x;
      const float grown = 1 + per_square * (dx * dx + dy * dy);
      row[x] = {middle_x + dx * grown, middle_y + dy * grown};
    }
  }
}

Op Lens(Params* params) {
  const Range distort = params->Draw("distort");
  const int interpolation = ReadInterpolation(params);
  const Outside outside = ReadOutside(params);
  return [=, map = cv::Mat()](const cv::Mat& in, Random* random,
                              cv::Mat* out) mutable {
    map.create(in.size(), CV_32FC2);
    FillLensMap(static_cast<float>(random->Uniform(distort)), &map);
    cv::remap(in, *out, map, cv::noArray(), interpolation, outside.border,
              outside.fill);
  };
}

// Smooth noise as a displacement of each pixel.
class Elastic {
 public:
  explicit Elastic(Params* params)
      : alpha_(static_cast<float>(params->Number("alpha"))),
        sigma_(params->Number("sigma")),
        one_field_(params->Boolean("same_dxdy")),
        interpolation_(ReadInterpolation(params)),
        outside_(ReadOutside(params)) {
    const std::vector<double> ksize = params->Tuple("ksize", 2);
    ksize_ = cv::Size(cvRound(ksize[0]), cvRound(ksize[1]));
    if (!(sigma_ > 0)) params->Fail("sigma", "must be positive");
  }

  void operator()(const cv::Mat& in, Random*, cv::Mat* out) {
    DrawField(in.size(), &dx_);
    if (!one_field_) DrawField(in.size(), &dy_);
    FillMap(dx_, one_field_ ? dx_ : dy_);
    cv::remap(in, *out, map_, cv::noArray(), interpolation_, outside_.border,
              outside_.fill);
  }

 private:
  void DrawField(cv::Size size, cv::Mat* field) {
    noise_.create(size, CV_32F);
    cv::randn(noise_, 0, 1);
    cv::GaussianBlur(noise_, *field, ksize_, sigma_);
  }

  void FillMap(const cv::Mat& dx, const cv::Mat& dy) {
    map_.create(dx.size(), CV_32FC2);
    for (int y = 0; y < map_.rows; ++y) {
      auto* row = map_.ptr<cv::Vec2f>(y);
      const auto* row_dx = dx.ptr<float>(y);
      const auto* row_dy = dy.ptr<float>(y);
      for (int x = 0; x < map_.cols; ++x) {
        row[x] = {x + alpha_ * row_dx[x], y + alpha_ * row_dy[x]};
      }
    }
  }

  float alpha_;
  double sigma_;
  bool one_field_;
  int interpolation_;
  Outside outside_;
  cv::Size ksize_;
  cv::Mat noise_, dx_, dy_, map_;
};

Op MakeElastic(Params* params) { return Elastic(params); }

}  // namespace

const OpTable& GeometryOps() {
  static const auto* const ops = new OpTable{
      // These move whole pixels.

      // flip_code.
      {"cv::flip", Flip},
      {"cv::transpose", Transpose},
      // times=uniform(0,3) or a number: quarter turns counter-clockwise. 0 is
      // a copy.
      {"cv::rotate", Rotate90},
      // padding, border_mode, fill.
      {"cv::copyMakeBorder", Pad},
      // grid=(rows,columns); order=(...), random when missing.
      {"cv::Mat(Rect)::copyTo", MakeJigsaw},

      // These interpolate. All keep the size and take interpolation,
      // border_mode and fill.

      // angle: degrees counter-clockwise about the center.
      {"cv::getRotationMatrix2D+cv::warpAffine", Rotate},
      // rotate, scale, shear=(x,y) in degrees, translate_px=(x,y), each
      // optional: about the center, the shear first and the translation last.
      {"cv::warpAffine", Affine},
      // scale: each corner moves inwards by |N(0, scale)| of the side.
      {"cv::getPerspectiveTransform+cv::warpPerspective", RandomPerspective},
      // matrix=(h0,...,h7): pixel (x, y) is read at ((h0 x + h1 y + h2) / w,
      // (h3 x + h4 y + h5) / w), w = h6 x + h7 y + 1.
      {"cv::warpPerspective", Perspective},

      // The map of these is made in every call, since it depends on the draw
      // and on the image's size.

      // distort: a point at r half diagonals from the middle is read at
      // r * (1 + distort * r * r).
      {"cv::remap", Lens},
      // alpha, sigma, same_dxdy, ksize; ksize=(0,0) is as large as sigma needs.
      {"cv::randn+cv::GaussianBlur+cv::remap", MakeElastic},
  };
  return *ops;
}

}  // namespace feedrate
