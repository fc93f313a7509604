#include "lib/adapters/opencv/jitter.h"

#include <numeric>
#include <utility>
#include <vector>

#include "lib/adapters/opencv/table.h"
#include "opencv2/core.hpp"
#include "opencv2/imgproc.hpp"

namespace feedrate {
namespace {

constexpr int kHues = 180;

struct Ranges {
  Range brightness, contrast, saturation, hue;
};

Ranges ReadRanges(Params* params) {
  return {params->DrawOr("brightness", 1), params->DrawOr("contrast", 1),
          params->DrawOr("saturation", 1), params->DrawOr("hue", 0)};
}

double MeanLuma(const cv::Mat& image, cv::Mat* grey) {
  cv::cvtColor(image, *grey, cv::COLOR_RGB2GRAY);
  return cv::mean(*grey)[0];
}

int TurnedHue(int hue, double turns) {
  const int turned = (hue + cvRound(turns * kHues)) % kHues;
  return turned < 0 ? turned + kHues : turned;
}

// The steps, each from one image to another of its own.
class Jitter {
 public:
  Jitter(const Ranges& ranges, bool random_order)
      : random_order_(random_order) {
    if (!Leaves(ranges.brightness, 1))
      steps_.push_back({kBrightness, ranges.brightness});
    if (!Leaves(ranges.contrast, 1))
      steps_.push_back({kContrast, ranges.contrast});
    if (!Leaves(ranges.saturation, 1))
      steps_.push_back({kSaturation, ranges.saturation});
    if (!Leaves(ranges.hue, 0)) steps_.push_back({kHue, ranges.hue});
    order_ = steps_;
  }

  void operator()(const cv::Mat& in, Random* random, cv::Mat* out) {
    if (steps_.empty()) in.copyTo(*out);
    if (random_order_) {
      // From the same start, so that a seed gives the same in every run.
      order_ = steps_;
      random->Shuffle(&order_);
    }
    const cv::Mat* from = &in;
    for (const Step& step : order_) {
      Apply(step.kind, random->Uniform(step.range), *from, out);
      from = out;
    }
  }

 private:
  enum Kind { kBrightness, kContrast, kSaturation, kHue };
  struct Step {
    Kind kind;
    Range range;
  };

  static bool Leaves(const Range& range, double neutral) {
    return range.fixed() && range.low == neutral;
  }

  // `from` may be `*to`: none of the calls below minds.
  void Apply(Kind kind, double amount, const cv::Mat& from, cv::Mat* to) {
    switch (kind) {
      case kBrightness:
        Lookup(MakeTable([=](int i) { return amount * i; }), from, to);
        return;
      case kContrast: {
        const double grey = (1 - amount) * MeanLuma(from, &grey_);
        Lookup(MakeTable([=](int i) { return amount * i + grey; }), from, to);
        return;
      }
      case kSaturation:
        cv::cvtColor(from, grey_, cv::COLOR_RGB2GRAY);
        cv::cvtColor(grey_, grey_colours_, cv::COLOR_GRAY2RGB);
        cv::addWeighted(from, amount, grey_colours_, 1 - amount, 0, *to);
        return;
      case kHue:
        cv::cvtColor(from, hsv_, cv::COLOR_RGB2HSV);
        cv::extractChannel(hsv_, grey_, 0);
        Lookup(MakeTable([=](int hue) { return TurnedHue(hue, amount); }),
               grey_, &grey_);
        cv::insertChannel(grey_, hsv_, 0);
        cv::cvtColor(hsv_, *to, cv::COLOR_HSV2RGB);
        return;
    }
  }

  static void Lookup(const Table& table, const cv::Mat& from, cv::Mat* to) {
    cv::LUT(from, TableMat(table), *to);
  }

  bool random_order_;
  std::vector<Step> steps_, order_;
  cv::Mat grey_, grey_colours_, hsv_;
};

Op MakeJitter(Params* params) {
  const Ranges ranges = ReadRanges(params);
  const bool random = params->Has("order") &&
                      params->Word("order", {{"fixed", 0}, {"random", 1}}) == 1;
  return Jitter(ranges, random);
}

// As single-shot detectors do it: saturation and hue in one visit to HSV.
class Photometric {
 public:
  explicit Photometric(const Ranges& ranges)
      : ranges_(ranges), tables_(1, 256, CV_8UC3) {}
  Photometric(const Photometric& other)
      : ranges_(other.ranges_), tables_(other.tables_.clone()) {}

  void operator()(const cv::Mat& in, Random* random, cv::Mat* out) {
    in.convertTo(*out, -1, random->Uniform(ranges_.brightness));
    const bool contrast_first = random->Coin();
    const double contrast = random->Uniform(ranges_.contrast);
    if (contrast_first) ScaleContrast(contrast, out);
    TurnColours(random->Uniform(ranges_.saturation),
                random->Uniform(ranges_.hue), out);
    if (!contrast_first) ScaleContrast(contrast, out);
  }

 private:
  void ScaleContrast(double contrast, cv::Mat* image) {
    const double grey = (1 - contrast) * MeanLuma(*image, &grey_);
    image->convertTo(*image, -1, contrast, grey);
  }

  void TurnColours(double saturation, double hue, cv::Mat* image) {
    for (int i = 0; i < 256; ++i) {
      tables_.at<cv::Vec3b>(i) = {static_cast<uint8_t>(TurnedHue(i, hue)),
                                  cv::saturate_cast<uint8_t>(i * saturation),
                                  static_cast<uint8_t>(i)};
    }
    cv::cvtColor(*image, hsv_, cv::COLOR_RGB2HSV);
    cv::LUT(hsv_, tables_, hsv_);
    cv::cvtColor(hsv_, *image, cv::COLOR_HSV2RGB);
  }

  Ranges ranges_;
  cv::Mat tables_, grey_, hsv_;
};

Op MakePhotometric(Params* params) {
  params->Word("order", {{"contrast_first_or_last", 0}});
  return Photometric(ReadRanges(params));
}

}  // namespace

const OpTable& JitterOps() {
  static const auto* const ops = new OpTable{
      {"cv::LUT+cv::cvtColor+cv::addWeighted", MakeJitter},
      {"cv::Mat::convertTo+cv::cvtColor+cv::LUT", MakePhotometric},
  };
  return *ops;
}

}  // namespace feedrate
