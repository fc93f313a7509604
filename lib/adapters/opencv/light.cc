#include "lib/adapters/opencv/light.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "opencv2/core.hpp"

namespace feedrate {
namespace {

// A value for each pixel, written to all of its channels.
//
// cv::multiply wants as many channels on both sides; filling them here costs
// less than cv::merge of equal planes.
class Field {
 public:
  // fill(y, row) writes one value a pixel.
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

// exp(-d^2 / (2 sigma^2)) of each place along a side.
std::vector<float> Bell(int size, double centre, double sigma) {
  std::vector<float> bell(size);
  for (int i = 0; i < size; ++i) {
    const double d = (i - centre) / sigma;
    bell[i] = static_cast<float>(std::exp(-0.5 * d * d));
  }
  return bell;
}

Gradient FromPoint(Params* params) {
  Range x, y;
  if (params->IsTuple("center")) {
    const std::vector<double> centre = params->Tuple("center", 2);
    x = {centre[0], centre[0]};
    y = {centre[1], centre[1]};
  } else {
    x = y = params->Draw("center");
  }
  const Range sigma = params->Draw("sigma");
  if (!(sigma.low > 0)) params->Fail("sigma", "must be positive");
  return [=](const cv::Mat& like, float strength, float offset, Random* random,
             Field* field) -> const cv::Mat& {
    const double width =
        random->Uniform(sigma) * std::max(like.rows, like.cols);
    // A Gaussian of two coordinates is the product of two of one.
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

}  // namespace

const OpTable& LightOps() {
  static const auto* const ops = new OpTable{
      {"cv::multiply", Multiply},
      {"cv::Mat(ramp)+cv::add", AddRamp},
  };
  return *ops;
}

}  // namespace feedrate
