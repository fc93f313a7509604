#include "lib/adapters/opencv/tone.h"

#include <cmath>
#include <vector>

#include "lib/adapters/opencv/table.h"
#include "opencv2/core.hpp"
#include "opencv2/imgproc.hpp"

namespace feedrate {
namespace {

Op Invert(Params*) {
  return [](const cv::Mat& in, Random*, cv::Mat* out) {
    cv::bitwise_not(in, *out);
  };
}

Op FixedTable(const Table& table) {
  return [table](const cv::Mat& in, Random*, cv::Mat* out) {
    cv::LUT(in, TableMat(table), *out);
  };
}

Table GammaTable(double gamma) {
  return MakeTable([gamma](int i) { return 255 * std::pow(i / 255.0, gamma); });
}

Op Gamma(Params* params) {
  const Range gamma = params->Draw("gamma");
  if (gamma.fixed()) return FixedTable(GammaTable(gamma.low));
  return [gamma](const cv::Mat& in, Random* random, cv::Mat* out) {
    const Table table = GammaTable(random->Uniform(gamma));
    cv::LUT(in, TableMat(table), *out);
  };
}

Op Lookup(Params* params) {
  if (params->Has("bits")) {
    const int bits = params->Integer("bits");
    if (bits < 1 || bits > 8) {
      params->Fail("bits", "must be in 1..8");
      return nullptr;
    }
    return FixedTable(
        MakeTable([bits](int i) { return i & (0xFF00 >> bits) & 0xFF; }));
  }
  if (params->Has("threshold")) {
    const double threshold = params->Number("threshold");
    return FixedTable(
        MakeTable([threshold](int i) { return i >= threshold ? 255 - i : i; }));
  }
  return Gamma(params);
}

Op Convert(Params* params) {
  const Range alpha = params->Draw("alpha");
  const Range beta = params->Draw("beta");
  return [=](const cv::Mat& in, Random* random, cv::Mat* out) {
    const double a = random->Uniform(alpha);
    in.convertTo(*out, -1, a, random->Uniform(beta));
  };
}

// Each channel stretched so that its least value becomes 0 and its greatest
// 255. A channel of one value stays.
class StretchContrast {
 public:
  void operator()(const cv::Mat& in, Random*, cv::Mat* out) {
    const int channels = in.channels();
    tables_.create(1, 256, CV_8UC(channels));
    cv::split(in, planes_);
    for (int c = 0; c < channels; ++c) FillTable(c);
    cv::LUT(in, tables_, *out);
  }

 private:
  void FillTable(int channel) {
    double low = 0, high = 0;
    cv::minMaxLoc(planes_[channel], &low, &high);
    const bool flat = low == high;
    const double scale = flat ? 1 : 255 / (high - low);
    if (flat) low = 0;
    const int channels = tables_.channels();
    uint8_t* table = tables_.ptr<uint8_t>() + channel;
    for (int i = 0; i < 256; ++i) {
      table[i * channels] = cv::saturate_cast<uint8_t>((i - low) * scale);
    }
  }

  std::vector<cv::Mat> planes_;
  cv::Mat tables_;
};

Op MakeStretchContrast(Params* params) {
  if (params->Number("cutoff") != 0) params->Fail("cutoff", "must be 0");
  return StretchContrast();
}

Op Equalize(Params* params) {
  if (!params->Boolean("by_channels")) {
    params->Fail("by_channels", "must be True");
  }
  return [planes = std::vector<cv::Mat>()](const cv::Mat& in, Random*,
                                           cv::Mat* out) mutable {
    cv::split(in, planes);
    for (cv::Mat& plane : planes) cv::equalizeHist(plane, plane);
    cv::merge(planes, *out);
  };
}

}  // namespace

const OpTable& ToneOps() {
  static const auto* const ops = new OpTable{
      {"cv::bitwise_not", Invert},
      {"cv::LUT", Lookup},
      {"cv::Mat::convertTo", Convert},
      {"cv::minMaxLoc+cv::LUT", MakeStretchContrast},
      {"cv::split+cv::equalizeHist+cv::merge", Equalize},
  };
  return *ops;
}

}  // namespace feedrate
