// OpenCV operations over a neighborhood, illumination, noise and erasing.
#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "lib/ops/opencv/op.h"
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

// (1 - alpha) * identity + alpha * (8 + lightness in the center, -1 around).
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

// A line through the center, `degrees` counter-clockwise from the right. The
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

// A value for each pixel, written to all of its channels.
//
// cv::multiply needs the same number of channels on both sides; filling them
// here costs less than cv::merge of equal planes.
class Field {
 public:
  // fill(y, row) writes one value per pixel.
  template <typename FillRow>
  const cv::Mat& Fill(const cv::Mat& like, FillRow&& fill) {
    const int channels = like.channels();
    row_.resize(like.cols);
    values_.create(like.rows, like.cols * channels, CV_32F);
    for (int y = 0; y < like.rows; ++y) {
      fill(y, row_.data());
      float* out = values_.ptr<float>(y);
      for (int x = 0; x < like.cols; ++x) {
        out = std::fill_n(out, channels, row_[x]);
      }
    }
    return values_;
  }

 private:
  std::vector<float> row_;
  cv::Mat values_;
};

// Draws what it needs and fills `field` with the gradient times `strength`
// plus `offset`.
using Gradient = std::function<const cv::Mat&(
    const cv::Mat& like, float strength, float offset, Random*, Field*)>;

// 0 to 1 from the first to the last of `size`, or back.
float Ramp(int at, int size, bool back) {
  const float ramp = size > 1 ? static_cast<float>(at) / (size - 1) : 1;
  return back ? 1 - ramp : ramp;
}

Gradient Linear(bool along_rows, bool back) {
  return [=](const cv::Mat& like, float strength, float offset, Random*,
             Field* field) -> const cv::Mat& {
    return field->Fill(like, [=, &like](int y, float* row) {
      if (along_rows) {
        std::fill_n(row, like.cols,
                    offset + strength * Ramp(y, like.rows, back));
        return;
      }
      for (int x = 0; x < like.cols; ++x) {
        row[x] = offset + strength * Ramp(x, like.cols, back);
      }
    });
  };
}

Gradient LinearByAngle(Params* params) {
  const int angle = params->Integer("angle");
  if (angle != 0 && angle != 90 && angle != 180 && angle != 270) {
    params->Fail("angle", "must be 0, 90, 180 or 270");
  }
  return Linear(angle % 180 != 0, angle >= 180);
}

enum Corner { kTopLeft, kTopRight, kBottomLeft, kBottomRight, kAnyCorner };

Gradient FromCorner(Params* params) {
  const int corner = params->Word("corner", {{"uniform", kAnyCorner},
                                             {"top_left", kTopLeft},
                                             {"top_right", kTopRight},
                                             {"bottom_left", kBottomLeft},
                                             {"bottom_right", kBottomRight}});
  return [corner](const cv::Mat& like, float strength, float offset,
                  Random* random, Field* field) -> const cv::Mat& {
    const int chosen =
        corner == kAnyCorner ? static_cast<int>(random->Below(4)) : corner;
    const float right = like.cols - 1, bottom = like.rows - 1;
    const float corner_x = chosen % 2 == 1 ? right : 0;
    const float corner_y = chosen / 2 == 1 ? bottom : 0;
    const float diagonal =
        std::max(1.0f, std::sqrt(right * right + bottom * bottom));
    return field->Fill(like, [=, &like](int y, float* row) {
      const float dy = y - corner_y;
      for (int x = 0; x < like.cols; ++x) {
        const float dx = x - corner_x;
        const float distance = std::sqrt(dx * dx + dy * dy);
        row[x] = offset + strength * (1 - distance / diagonal);
      }
    });
  };
}

// exp(-d^2 / (2 sigma^2)) for each position along a side.
std::vector<float> Bell(int size, double center, double sigma) {
  std::vector<float> bell(size);
  for (int i = 0; i < size; ++i) {
    const double d = (i - center) / sigma;
    bell[i] = static_cast<float>(std::exp(-0.5 * d * d));
  }
  return bell;
}

Gradient FromPoint(Params* params) {
  Range x, y;
  if (params->IsTuple("center")) {
    const std::vector<double> center = params->Tuple("center", 2);
    x = {center[0], center[0]};
    y = {center[1], center[1]};
  } else {
    x = y = params->Draw("center");
  }
  const Range sigma = params->Draw("sigma");
  if (!(sigma.low > 0)) params->Fail("sigma", "must be positive");
  return [=](const cv::Mat& like, float strength, float offset, Random* random,
             Field* field) -> const cv::Mat& {
    const double width =
        random->Uniform(sigma) * std::max(like.rows, like.cols);
    // A Gaussian of two coordinates is the product of two Gaussians of one.
    const std::vector<float> across =
        Bell(like.cols, random->Uniform(x) * like.cols, width);
    const std::vector<float> down =
        Bell(like.rows, random->Uniform(y) * like.rows, width);
    return field->Fill(like, [&](int row_index, float* row) {
      const float scaled = strength * down[row_index];
      for (int i = 0; i < like.cols; ++i) row[i] = offset + scaled * across[i];
    });
  };
}

Op Illuminate(Params* params, Gradient gradient) {
  const Range intensity = params->Draw("intensity");
  const bool any_sign = !params->Has("sign");
  const double given_sign = any_sign ? 1 : params->Number("sign");
  return [=, field = Field()](const cv::Mat& in, Random* random,
                              cv::Mat* out) mutable {
    const double sign = any_sign ? (random->Coin() ? 1 : -1) : given_sign;
    const auto strength = static_cast<float>(sign * random->Uniform(intensity));
    const cv::Mat& factors = gradient(in, strength, 1, random, &field);
    cv::Mat flat = FlatLike(in, out);
    cv::multiply(Flat(in), factors, flat, 1, CV_8U);
  };
}

Op MultiplyChannels(Params* params) {
  const std::vector<double> f = params->Tuple("factors", 3);
  const cv::Scalar factors(f[0], f[1], f[2]);
  return [factors](const cv::Mat& in, Random*, cv::Mat* out) {
    cv::multiply(in, factors, *out);
  };
}

Op Multiply(Params* params) {
  if (params->Has("factors")) return MultiplyChannels(params);
  if (params->Has("angle")) {
    return Illuminate(params, LinearByAngle(params));
  }
  return Illuminate(
      params, params->Has("corner") ? FromCorner(params) : FromPoint(params));
}

Op AddRamp(Params* params) {
  enum { kTop, kBottom, kLeft, kRight };
  const Range ramp = params->Draw("ramp");
  const int side = params->Word(
      "side",
      {{"top", kTop}, {"bottom", kBottom}, {"left", kLeft}, {"right", kRight}});
  const Gradient gradient =
      Linear(side == kTop || side == kBottom, side == kTop || side == kLeft);
  return [=, field = Field()](const cv::Mat& in, Random* random,
                              cv::Mat* out) mutable {
    const auto most = static_cast<float>(255 * random->Uniform(ramp));
    const cv::Mat& terms = gradient(in, most, 0, random, &field);
    cv::Mat flat = FlatLike(in, out);
    cv::add(Flat(in), terms, flat, cv::noArray(), CV_8U);
  };
}

Op Gaussian(Params* params) {
  const double mean = params->Number("mean");
  const double deviation = params->Number("std");
  if (!(deviation >= 0)) params->Fail("std", "is below 0");
  return
      [=, noise = cv::Mat()](const cv::Mat& in, Random*, cv::Mat* out) mutable {
        const cv::Mat image = Flat(in);
        noise.create(image.size(), CV_16S);
        cv::randn(noise, mean, deviation);
        cv::Mat flat = FlatLike(in, out);
        cv::add(image, noise, flat, cv::noArray(), CV_8U);
      };
}

Op SaltAndPepper(Params* params) {
  const Range amount = params->Draw("amount");
  const Range salt = params->Draw("salt_vs_pepper");
  return [=, field = cv::Mat(), mask = cv::Mat()](
             const cv::Mat& in, Random* random, cv::Mat* out) mutable {
    // 16 bits can represent shares of a thousandth; 8 cannot.
    constexpr double kValues = 65536;
    const double share = random->Uniform(amount) * kValues;
    const double white = share * random->Uniform(salt);
    field.create(in.size(), CV_16U);
    cv::randu(field, 0, kValues);
    in.copyTo(*out);
    cv::compare(field, white, mask, cv::CMP_LT);
    out->setTo(cv::Scalar::all(255), mask);
    cv::compare(field, kValues - (share - white), mask, cv::CMP_GE);
    out->setTo(cv::Scalar::all(0), mask);
  };
}

struct Hole {
  Range area;
  Range ratio;
  int tries = 0;
};

// Empty when no draw fits.
cv::Rect DrawHole(const Hole& hole, const cv::Size& image, Random* random) {
  const Range log_ratio = {std::log(hole.ratio.low), std::log(hole.ratio.high)};
  for (int i = 0; i < hole.tries; ++i) {
    const double area = static_cast<double>(image.width) * image.height *
                        random->Uniform(hole.area);
    const double ratio = std::exp(random->Uniform(log_ratio));
    const int height = cvRound(std::sqrt(area * ratio));
    const int width = cvRound(std::sqrt(area / ratio));
    if (height >= image.height || width >= image.width) continue;
    const int y = static_cast<int>(random->Below(image.height - height + 1));
    const int x = static_cast<int>(random->Below(image.width - width + 1));
    return cv::Rect(x, y, width, height);
  }
  return cv::Rect();
}

void Erase(const cv::Mat& in, const cv::Rect& hole, double fill, cv::Mat* out) {
  in.copyTo(*out);
  if (!hole.empty()) Flat((*out)(hole)).setTo(fill);
}

Op EraseFixed(Params* params) {
  const double fill = params->Number("fill");
  const std::vector<double> r = params->Tuple("rect", 4);
  const cv::Rect hole(cvRound(r[1]), cvRound(r[0]), cvRound(r[3]),
                      cvRound(r[2]));
  return [=](const cv::Mat& in, Random*, cv::Mat* out) {
    Erase(in, hole & cv::Rect(cv::Point(), in.size()), fill, out);
  };
}

Op MakeErase(Params* params) {
  if (params->Has("rect")) return EraseFixed(params);
  const double fill = params->Number("fill");
  const std::vector<double> scale = params->Tuple("scale", 2);
  const std::vector<double> ratio = params->Tuple("ratio", 2);
  Hole hole;
  hole.area = {scale[0], scale[1]};
  hole.ratio = {ratio[0], ratio[1]};
  hole.tries = params->Integer("tries");
  if (!(ratio[0] > 0 && ratio[0] <= ratio[1])) {
    params->Fail("ratio", "must be positive and ascending");
  }
  return [=](const cv::Mat& in, Random* random, cv::Mat* out) {
    Erase(in, DrawHole(hole, in.size(), random), fill, out);
  };
}

}  // namespace

const OpTable& FilterOps() {
  static const auto* const ops = new OpTable{
      // Blurs and sharpening. border_mode is optional; OpenCV's default.

      // ksize, border_mode.
      {"cv::blur", Blur},
      // ksize, sigma, border_mode.
      {"cv::GaussianBlur", GaussianBlur},
      // ksize.
      {"cv::medianBlur", MedianBlur},
      // kernel=(nine numbers), scale; or alpha, lightness, ksize=(3,3): see
      // Sharpen; or angle, direction, ksize: see MotionBlur.
      {"cv::filter2D", Filter2D},
      // ksize=uniform{3,5,7} or one number, sigma, alpha, threshold: adds
      // alpha * (image - blurred) where that difference is above threshold.
      {"cv::GaussianBlur+cv::addWeighted", MakeUnsharp},
      // kernel, scale, factor: moves away from the filtered image. The
      // outermost pixels stay.
      {"cv::filter2D+cv::addWeighted", Blend},

      // Illumination.

      // factors=(r,g,b): each channel times its own; RGB images only. Or
      // times 1 + sign * intensity * gradient, saturating. sign is -1 or 1,
      // drawn uniformly unless given. The gradient goes from 0 to 1, by one of
      // these:
      //   angle          along the rows (90: downwards, 270: upwards) or the
      //                  columns (0: to the right, 180: to the left)
      //   corner         `uniform`, or `top_left` and so on: 1 there, 0 at the
      //                  distance of the diagonal
      //   center, sigma  a Gaussian around the center. Both coordinates are
      //                  drawn from U(a,b), or are (x,y), in units of the
      //                  sides; sigma is in units of the longer side
      {"cv::multiply", Multiply},
      // ramp, side=top|bottom|left|right: adds up to ramp * 255 on that side,
      // nothing on the opposite one.
      {"cv::Mat(ramp)+cv::add", AddRamp},

      // Noise and erasing.

      // mean, std: drawn for each value, saturating.
      {"cv::randn+cv::add", Gaussian},
      // amount, salt_vs_pepper: whole pixels.
      {"cv::randu+cv::Mat::setTo", SaltAndPepper},
      // scale, ratio, tries; or rect=(top,left,height,width). fill. The output
      // is a plain copy when no draw fits.
      {"cv::Mat(Rect)::setTo", MakeErase},
  };
  return *ops;
}

}  // namespace feedrate
