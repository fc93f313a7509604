// OpenCV operations on colors, channels and single values.
#include <cmath>
#include <numeric>
#include <vector>

#include "lib/ops/opencv/op.h"
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

// A table for three channels that changes one of them.
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

Op ColorTable(Params* params) {
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

struct Ranges {
  Range brightness, contrast, saturation, hue;
};

Ranges ReadRanges(Params* params) {
  return {params->DrawOr("brightness", 1), params->DrawOr("contrast", 1),
          params->DrawOr("saturation", 1), params->DrawOr("hue", 0)};
}

double MeanLuma(const cv::Mat& image, cv::Mat* gray) {
  cv::cvtColor(image, *gray, cv::COLOR_RGB2GRAY);
  return cv::mean(*gray)[0];
}

int TurnedHue(int hue, double turns) {
  const int turned = (hue + cvRound(turns * kHues)) % kHues;
  return turned < 0 ? turned + kHues : turned;
}

// Applies the steps one after the other.
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
      // From the same start, so that a seed gives the same order in every run.
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

  // `from` may be `*to`: all calls below support it.
  void Apply(Kind kind, double amount, const cv::Mat& from, cv::Mat* to) {
    switch (kind) {
      case kBrightness:
        Lookup(MakeTable([=](int i) { return amount * i; }), from, to);
        return;
      case kContrast: {
        const double gray = (1 - amount) * MeanLuma(from, &gray_);
        Lookup(MakeTable([=](int i) { return amount * i + gray; }), from, to);
        return;
      }
      case kSaturation:
        cv::cvtColor(from, gray_, cv::COLOR_RGB2GRAY);
        cv::cvtColor(gray_, gray_colors_, cv::COLOR_GRAY2RGB);
        cv::addWeighted(from, amount, gray_colors_, 1 - amount, 0, *to);
        return;
      case kHue:
        cv::cvtColor(from, hsv_, cv::COLOR_RGB2HSV);
        cv::extractChannel(hsv_, gray_, 0);
        Lookup(MakeTable([=](int hue) { return TurnedHue(hue, amount); }),
               gray_, &gray_);
        cv::insertChannel(gray_, hsv_, 0);
        cv::cvtColor(hsv_, *to, cv::COLOR_HSV2RGB);
        return;
    }
  }

  static void Lookup(const Table& table, const cv::Mat& from, cv::Mat* to) {
    cv::LUT(from, TableMat(table), *to);
  }

  bool random_order_;
  std::vector<Step> steps_, order_;
  cv::Mat gray_, gray_colors_, hsv_;
};

Op MakeJitter(Params* params) {
  const Ranges ranges = ReadRanges(params);
  const bool random = params->Has("order") &&
                      params->Word("order", {{"fixed", 0}, {"random", 1}}) == 1;
  return Jitter(ranges, random);
}

// As in single-shot detectors: saturation and hue in one conversion to HSV.
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
    TurnColors(random->Uniform(ranges_.saturation),
               random->Uniform(ranges_.hue), out);
    if (!contrast_first) ScaleContrast(contrast, out);
  }

 private:
  void ScaleContrast(double contrast, cv::Mat* image) {
    const double gray = (1 - contrast) * MeanLuma(*image, &gray_);
    image->convertTo(*image, -1, contrast, gray);
  }

  void TurnColors(double saturation, double hue, cv::Mat* image) {
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
  cv::Mat tables_, gray_, hsv_;
};

Op MakePhotometric(Params* params) {
  params->Word("order", {{"contrast_first_or_last", 0}});
  return Photometric(ReadRanges(params));
}

void MixInOrder(const cv::Mat& in, const std::vector<int>& order,
                std::vector<int>* pairs, cv::Mat* out) {
  pairs->resize(2 * order.size());
  for (size_t c = 0; c < order.size(); ++c) {
    (*pairs)[2 * c] = order[c];
    (*pairs)[2 * c + 1] = static_cast<int>(c);
  }
  out->create(in.size(), in.type());
  cv::mixChannels(&in, 1, out, 1, pairs->data(), order.size());
}

Op RandomOrder() {
  return [order = std::vector<int>(), pairs = std::vector<int>()](
             const cv::Mat& in, Random* random, cv::Mat* out) mutable {
    order.resize(in.channels());
    std::iota(order.begin(), order.end(), 0);
    random->Shuffle(&order);
    MixInOrder(in, order, &pairs, out);
  };
}

Op Shuffle(Params* params) {
  if (params->Text("order") == "uniform") return RandomOrder();
  std::vector<int> order;
  for (double channel : params->Tuple("order")) {
    order.push_back(cvRound(channel));
    if (order.back() < 0) params->Fail("order", "must name channels from 0");
  }
  return [order, pairs = std::vector<int>()](const cv::Mat& in, Random*,
                                             cv::Mat* out) mutable {
    CV_Assert(order.size() == static_cast<size_t>(in.channels()));
    MixInOrder(in, order, &pairs, out);
  };
}

// Puts one value into the channels that `pick` names.
template <typename Pick>
Op Drop(double fill, Pick pick) {
  return [fill, pick, plane = cv::Mat(), picked = std::vector<int>()](
             const cv::Mat& in, Random* random, cv::Mat* out) mutable {
    in.copyTo(*out);
    plane.create(in.size(), CV_8U);
    plane.setTo(fill);
    pick(in.channels(), random, &picked);
    for (int channel : picked) cv::insertChannel(plane, *out, channel);
  };
}

Op Dropout(Params* params) {
  const double fill = params->Number("fill");
  if (params->Has("channel")) {
    const int channel = params->Integer("channel");
    return Drop(fill, [channel](int, Random*, std::vector<int>* picked) {
      picked->assign(1, channel);
    });
  }
  const int count = params->Integer("channels");
  if (count < 1) params->Fail("channels", "must be positive");
  return Drop(fill,
              [count](int channels, Random* random, std::vector<int>* picked) {
                picked->resize(channels);
                std::iota(picked->begin(), picked->end(), 0);
                random->Shuffle(picked);
                if (count < channels) picked->resize(count);
              });
}

Op Shift(Params* params) {
  const Range red = params->Draw("r_shift");
  const Range green = params->Draw("g_shift");
  const Range blue = params->Draw("b_shift");
  return [=](const cv::Mat& in, Random* random, cv::Mat* out) {
    const double r = random->Integer(red), g = random->Integer(green);
    cv::add(in, cv::Scalar(r, g, random->Integer(blue)), *out);
  };
}

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

// Stretches each channel so that its smallest value becomes 0 and its largest
// 255. A channel with a single value stays.
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

const OpTable& ColorOps() {
  static const auto* const ops = new OpTable{
      // RGB images only: these use the three colors of a pixel together.

      // code, back: converts there and back, such as to gray.
      {"cv::cvtColor", ThereAndBack},
      // hue_shift: in HSV, in units of 2 degrees. Or snow_point and
      // brightness_coeff: in HLS, multiplies a lightness below
      // snow_point * 127.5 + 85.
      {"cv::cvtColor+cv::LUT", ColorTable},
      // sat_shift: in HSV.
      {"cv::cvtColor+cv::add", ShiftSaturation},
      // clip_limit, tile_grid_size, channel=L of Lab.
      {"cv::cvtColor+cv::CLAHE::apply", Clahe},

      // Color jitter of RGB images. Parameters, each optional and either a
      // number or U(a,b):
      //   brightness  multiplies
      //   contrast    scales the distance from the mean luma
      //   saturation  scales the distance from the luma of the pixel
      //   hue         rotates the hue in HSV; the unit is one full turn
      // order: `fixed` (as above), `random`, or `contrast_first_or_last`
      // (brightness, then contrast before or after saturation and hue).

      // Saturation by a blend with the gray image.
      {"cv::LUT+cv::cvtColor+cv::addWeighted", MakeJitter},
      // Saturation and hue together in HSV.
      {"cv::Mat::convertTo+cv::cvtColor+cv::LUT", MakePhotometric},

      // Whole channels.

      // order: `uniform`, or the source of each channel, such as (2,0,1).
      {"cv::mixChannels", Shuffle},
      // channels: how many to drop, chosen uniformly; or channel: which one.
      // fill.
      {"cv::insertChannel", Dropout},
      // r_shift, g_shift, b_shift: integers, saturating.
      {"cv::add", Shift},

      // Each value by itself, or depending on the histogram of its channel.

      {"cv::bitwise_not", Invert},
      // bits (posterize), threshold (solarize: inverts values from it on), or
      // gamma.
      {"cv::LUT", Lookup},
      // alpha, beta.
      {"cv::Mat::convertTo", Convert},
      // cutoff=0: stretches each channel.
      {"cv::minMaxLoc+cv::LUT", MakeStretchContrast},
      // by_channels=True.
      {"cv::split+cv::equalizeHist+cv::merge", Equalize},
  };
  return *ops;
}

}  // namespace feedrate
