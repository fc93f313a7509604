#include "lib/adapters/opencv/channels.h"

#include <numeric>
#include <vector>

#include "opencv2/core.hpp"

namespace feedrate {
namespace {

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

}  // namespace

const OpTable& ChannelOps() {
  static const auto* const ops = new OpTable{
      {"cv::mixChannels", Shuffle},
      {"cv::insertChannel", Dropout},
      {"cv::add", Shift},
  };
  return *ops;
}

}  // namespace feedrate
