#include "lib/adapters/opencv/noise.h"

#include <cmath>
#include <vector>

#include "opencv2/core.hpp"

namespace feedrate {
namespace {

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
    // 16 bits tell shares of a thousandth apart; 8 do not.
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

// An empty one when no draw fits.
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

const OpTable& NoiseOps() {
  static const auto* const ops = new OpTable{
      {"cv::randn+cv::add", Gaussian},
      {"cv::randu+cv::Mat::setTo", SaltAndPepper},
      {"cv::Mat(Rect)::setTo", MakeErase},
  };
  return *ops;
}

}  // namespace feedrate
