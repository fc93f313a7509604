#include "lib/adapters/opencv/filter.h"

#include <cmath>
#include <vector>

#include "lib/adapters/opencv/words.h"
#include "opencv2/core.hpp"
#include "opencv2/imgproc.hpp"

namespace feedrate {
namespace {

Op Blur(Params* params) {
  const cv::Size ksize = ReadKernelSize(params);
  const int border = ReadBorder(params);
  return [=](const cv::Mat& in, Random*, cv::Mat* out) {
    cv::blur(in, *out, ksize, cv::Point(-1, -1), border);
  };
}

Op GaussianBlur(Params* params) {
  const cv::Size ksize = ReadKernelSize(params);
  const double sigma = params->Number("sigma");
  const int border = ReadBorder(params);
  return [=](const cv::Mat& in, Random*, cv::Mat* out) {
    cv::GaussianBlur(in, *out, ksize, sigma, sigma, border);
  };
}

Op MedianBlur(Params* params) {
  const int ksize = ReadKernelSize(params).width;
  return [ksize](const cv::Mat& in, Random*, cv::Mat* out) {
    cv::medianBlur(in, *out, ksize);
  };
}

cv::Matx33f ReadKernel(Params* params) {
  const std::vector<double> kernel = params->Tuple("kernel", 9);
  const double scale = params->Number("scale");
  if (scale == 0) params->Fail("scale", "must not be 0");
  cv::Matx33f matrix;
  for (int i = 0; i < 9; ++i) {
    matrix.val[i] = static_cast<float>(kernel[i] / scale);
  }
  return matrix;
}

Op FixedKernel(Params* params) {
  const cv::Matx33f kernel = ReadKernel(params);
  const int border = ReadBorder(params);
  return [=](const cv::Mat& in, Random*, cv::Mat* out) {
    cv::filter2D(in, *out, -1, kernel, cv::Point(-1, -1), 0, border);
  };
}

// (1 - alpha) * identity + alpha * (8 + lightness in the centre, -1 around).
Op Sharpen(Params* params) {
  const Range alpha = params->Draw("alpha");
  const Range lightness = params->Draw("lightness");
  if (ReadKernelSize(params) != cv::Size(3, 3)) {
    params->Fail("ksize", "must be (3,3)");
  }
  const int border = ReadBorder(params);
  return [=](const cv::Mat& in, Random* random, cv::Mat* out) {
    const double a = random->Uniform(alpha);
    cv::Matx33f kernel = cv::Matx33f::all(static_cast<float>(-a));
    kernel(1, 1) =
        static_cast<float>(1 - a + a * (8 + random->Uniform(lightness)));
    cv::filter2D(in, *out, -1, kernel, cv::Point(-1, -1), 0, border);
  };
}

// A line through the centre, `degrees` counter-clockwise from the right. The
// weight goes evenly from 1 - direction to 1 + direction; the sum is 1.
cv::Mat LineKernel(cv::Size size, double degrees, double direction) {
  cv::Mat kernel = cv::Mat::zeros(size, CV_32F);
  const double cos = std::cos(degrees * CV_PI / 180);
  const double sin = std::sin(degrees * CV_PI / 180);
  const int half = (std::min(size.width, size.height) - 1) / 2;
  for (int step = -half; step <= half; ++step) {
    const int x = size.width / 2 + cvRound(step * cos);
    const int y = size.height / 2 - cvRound(step * sin);
    const double along = half == 0 ? 0 : static_cast<double>(step) / half;
    kernel.at<float>(y, x) += static_cast<float>(1 + direction * along);
  }
  kernel /= cv::sum(kernel)[0];
  return kernel;
}

Op MotionBlur(Params* params) {
  const cv::Size ksize = ReadKernelSize(params);
  const Range angle = params->Draw("angle");
  const Range direction = params->Draw("direction");
  if (direction.low < -1 || direction.high > 1) {
    params->Fail("direction", "must be in -1..1");
  }
  const int border = ReadBorder(params);
  return [=](const cv::Mat& in, Random* random, cv::Mat* out) {
    const double degrees = random->Uniform(angle);
    cv::filter2D(in, *out, -1,
                 LineKernel(ksize, degrees, random->Uniform(direction)),
                 cv::Point(-1, -1), 0, border);
  };
}

Op Filter2D(Params* params) {
  if (params->Has("kernel")) return FixedKernel(params);
  if (params->Has("lightness")) return Sharpen(params);
  return MotionBlur(params);
}

class Unsharp {
 public:
  explicit Unsharp(Params* params)
      : sigma_(params->Number("sigma")),
        alpha_(params->Draw("alpha")),
        threshold_(params->Number("threshold")),
        border_(ReadBorder(params)) {
    for (double size : params->Choices("ksize")) {
      ksizes_.push_back(cvRound(size));
      if (ksizes_.back() < 1 || ksizes_.back() % 2 == 0) {
        params->Fail("ksize", "must be odd");
      }
    }
  }

  void operator()(const cv::Mat& in, Random* random, cv::Mat* out) {
    const int ksize = ksizes_[random->Below(ksizes_.size())];
    const double alpha = random->Uniform(alpha_);
    cv::GaussianBlur(in, blurred_, cv::Size(ksize, ksize), sigma_, sigma_,
                     border_);
    const cv::Mat image = Flat(in), blurred = Flat(blurred_);
    cv::absdiff(image, blurred, mask_);
    cv::compare(mask_, threshold_, mask_, cv::CMP_GT);
    cv::addWeighted(image, 1 + alpha, blurred, -alpha, 0, sharp_);
    cv::Mat flat = FlatLike(in, out);
    image.copyTo(flat);
    sharp_.copyTo(flat, mask_);
  }

 private:
  double sigma_;
  Range alpha_;
  double threshold_;
  int border_;
  std::vector<int> ksizes_;
  cv::Mat blurred_, mask_, sharp_;
};

Op MakeUnsharp(Params* params) { return Unsharp(params); }

Op Blend(Params* params) {
  const cv::Matx33f kernel = ReadKernel(params);
  const Range factor = params->Draw("factor");
  return [=, filtered = cv::Mat()](const cv::Mat& in, Random* random,
                                   cv::Mat* out) mutable {
    const double f = random->Uniform(factor);
    cv::filter2D(in, filtered, -1, kernel);
    for (const cv::Rect& edge :
         {cv::Rect(0, 0, in.cols, 1), cv::Rect(0, in.rows - 1, in.cols, 1),
          cv::Rect(0, 0, 1, in.rows), cv::Rect(in.cols - 1, 0, 1, in.rows)}) {
      in(edge).copyTo(filtered(edge));
    }
    cv::Mat flat = FlatLike(in, out);
    cv::addWeighted(Flat(in), f, Flat(filtered), 1 - f, 0, flat);
  };
}

}  // namespace

const OpTable& FilterOps() {
  static const auto* const ops = new OpTable{
      {"cv::blur", Blur},
      {"cv::GaussianBlur", GaussianBlur},
      {"cv::medianBlur", MedianBlur},
      {"cv::filter2D", Filter2D},
      {"cv::GaussianBlur+cv::addWeighted", MakeUnsharp},
      {"cv::filter2D+cv::addWeighted", Blend},
  };
  return *ops;
}

}  // namespace feedrate
