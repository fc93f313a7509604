#include "lib/adapters/opencv/chunks.h"

#include <utility>
#include <vector>

#include "opencv2/core.hpp"

namespace feedrate {
namespace {

constexpr int kChunk = 3;

class ChunkedOp {
 public:
  explicit ChunkedOp(Op op) : op_(std::move(op)) {}

  void operator()(const cv::Mat& in, Random* random, cv::Mat* out) {
    CV_Assert(in.channels() % kChunk == 0);
    const size_t count = in.channels() / kChunk;
    inputs_.resize(count);
    outputs_.resize(count);
    const Random start = *random;
    Split(in);
    for (size_t i = 0; i < count; ++i) {
      *random = start;
      op_(inputs_[i], random, &outputs_[i]);
    }
    Join(in.channels(), out);
  }

 private:
  void Split(const cv::Mat& in) {
    for (cv::Mat& input : inputs_) input.create(in.size(), CV_8UC3);
    cv::mixChannels(&in, 1, inputs_.data(), inputs_.size(),
                    Identity(in.channels()), in.channels());
  }

  void Join(int channels, cv::Mat* out) {
    out->create(outputs_[0].size(), CV_8UC(channels));
    cv::mixChannels(outputs_.data(), outputs_.size(), out, 1,
                    Identity(channels), channels);
  }

  // Channel i comes from channel i.
  const int* Identity(int channels) {
    pairs_.resize(2 * channels);
    for (int c = 0; c < channels; ++c) pairs_[2 * c] = pairs_[2 * c + 1] = c;
    return pairs_.data();
  }

  Op op_;
  std::vector<cv::Mat> inputs_, outputs_;
  std::vector<int> pairs_;
};

}  // namespace

Op PerChunk(Op op) { return ChunkedOp(std::move(op)); }

}  // namespace feedrate
