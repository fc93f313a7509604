#include "lib/adapters/opencv/colour.h"

#include <utility>
#include <vector>

#include "lib/adapters/opencv/table.h"
#include "opencv2/core.hpp"
#include "opencv2/imgproc.hpp"

namespace feedrate {
namespace {

// Hue of 8-bit HSV counts from 0 to this, in units of 2 degrees.
constexpr int kHues = 180;

int ReadCode(absl::string_view name, Params* params) {
  return params->Word(name, {{"COLOR_RGB2GRAY", cv::COLOR_RGB2GRAY},
                             {"COLOR_GRAY2RGB", cv::COLOR_GRAY2RGB}});
}

Op ThereAndBack(Params* params) {
  const int there = ReadCode("code", params);
  const int back = ReadCode("back", params);
  return [=, between = cv::Mat()](const cv::Mat& in, Random*,
                                  cv::Mat* out) mutable {
    cv::cvtColor(in, between, there);
    cv::cvtColor(between, *out, back);
  };
}

// A table of three channels that changes one.
class OneChannelTable {
 public:
  OneChannelTable() : mat_(1, 256, CV_8UC3) {
    for (int i = 0; i < 256; ++i) {
      mat_.at<cv::Vec3b>(i) = cv::Vec3b::all(static_cast<uint8_t>(i));
    }
  }
  OneChannelTable(const OneChannelTable& other) : mat_(other.mat_.clone()) {}

  template <typename Function>
  const cv::Mat& Fill(int channel, Function&& function) {
    const Table table = MakeTable(function);
    for (int i = 0; i < 256; ++i) mat_.at<cv::Vec3b>(i)[channel] = table[i];
    return mat_;
  }

 private:
  cv::Mat mat_;
};

Op ShiftHue(Params* params) {
  const Range shift = params->Draw("hue_shift");
  return [=, hsv = cv::Mat(), table = OneChannelTable()](
             const cv::Mat& in, Random* random, cv::Mat* out) mutable {
    const int by = cvRound(random->Uniform(shift));
    cv::cvtColor(in, hsv, cv::COLOR_RGB2HSV);
    const auto turned = [by](int hue) {
      return ((hue + by) % kHues + kHues) % kHues;
    };
    cv::LUT(hsv, table.Fill(0, turned), hsv);
    cv::cvtColor(hsv, *out, cv::COLOR_HSV2RGB);
  };
}

Op Snow(Params* params) {
  const Range point = params->Draw("snow_point");
  const Range coefficient = params->Draw("brightness_coeff");
  return [=, hls = cv::Mat(), table = OneChannelTable()](
             const cv::Mat& in, Random* random, cv::Mat* out) mutable {
    const double below = random->Uniform(point) * 127.5 + 85;
    const double factor = random->Uniform(coefficient);
    cv::cvtColor(in, hls, cv::COLOR_RGB2HLS);
    const auto bleached = [=](int light) {
      return light < below ? light * factor : light;
    };
    cv::LUT(hls, table.Fill(1, bleached), hls);
    cv::cvtColor(hls, *out, cv::COLOR_HLS2RGB);
  };
}

Op ColourTable(Params* params) {
  return params->Has("hue_shift") ? ShiftHue(params) : Snow(params);
}

Op ShiftSaturation(Params* params) {
  const Range shift = params->Draw("sat_shift");
  return [=, hsv = cv::Mat()](const cv::Mat& in, Random* random,
                              cv::Mat* out) mutable {
    cv::cvtColor(in, hsv, cv::COLOR_RGB2HSV);
    cv::add(hsv, cv::Scalar(0, random->Uniform(shift), 0), hsv);
    cv::cvtColor(hsv, *out, cv::COLOR_HSV2RGB);
  };
}

Op Clahe(Params* params) {
  const Range limit = params->Draw("clip_limit");
  const std::vector<double> tiles = params->Tuple("tile_grid_size", 2);
  params->Word("channel", {{"L of Lab", 0}});
  if (tiles[0] < 1 || tiles[1] < 1) {
    params->Fail("tile_grid_size", "must be positive");
    return nullptr;
  }
  const cv::Ptr<cv::CLAHE> clahe = cv::createCLAHE(
      limit.low, cv::Size(cvRound(tiles[0]), cvRound(tiles[1])));
  return [=, lab = cv::Mat(), light = cv::Mat()](
             const cv::Mat& in, Random* random, cv::Mat* out) mutable {
    clahe->setClipLimit(random->Uniform(limit));
    cv::cvtColor(in, lab, cv::COLOR_RGB2Lab);
    cv::extractChannel(lab, light, 0);
    clahe->apply(light, light);
    cv::insertChannel(light, lab, 0);
    cv::cvtColor(lab, *out, cv::COLOR_Lab2RGB);
  };
}

}  // namespace

const OpTable& ColourOps() {
  static const auto* const ops = new OpTable{
      {"cv::cvtColor", ThereAndBack},
      {"cv::cvtColor+cv::LUT", ColourTable},
      {"cv::cvtColor+cv::add", ShiftSaturation},
      {"cv::cvtColor+cv::CLAHE::apply", Clahe},
  };
  return *ops;
}

}  // namespace feedrate
