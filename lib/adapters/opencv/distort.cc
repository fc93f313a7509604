#include "lib/adapters/opencv/distort.h"

#include <vector>

#include "lib/adapters/opencv/words.h"
#include "opencv2/core.hpp"
#include "opencv2/imgproc.hpp"

namespace feedrate {
namespace {

// Where each pixel is read, by the rule above.
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

const OpTable& DistortOps() {
  static const auto* const ops = new OpTable{
      {"cv::remap", Lens},
      {"cv::randn+cv::GaussianBlur+cv::remap", MakeElastic},
  };
  return *ops;
}

}  // namespace feedrate
