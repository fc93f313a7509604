#include "lib/adapters/opencv/clip_transform.h"

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/adapters/opencv/op.h"
#include "lib/adapters/worker/random.h"
#include "opencv2/core.hpp"

namespace feedrate {

ClipTransform::ClipTransform(Op op, const Corpus& corpus) : op_(std::move(op)) {
  inputs_.resize(corpus.size());
  for (int64_t i = 0; i < corpus.size(); ++i) {
    const ItemView item = corpus.item(i);
    // OpenCV's headers know no const; that nobody writes is seen to by the
    // mapping, which is read-only.
    auto* data = static_cast<uint8_t*>(const_cast<void*>(item.data));
    const int64_t bytes = int64_t{1} * item.height * item.width * item.channels;
    for (int frame = 0; frame < item.frames; ++frame) {
      inputs_[i].push_back(cv::Mat(item.height, item.width,
                                   CV_8UC(item.channels),
                                   data + frame * bytes));
    }
  }
}

void ClipTransform::Place(size_t i, size_t frames, const cv::Mat& result) {
  if (i == 0) {
    frame_rows_ = result.rows;
    clip_.create(result.rows * static_cast<int>(frames), result.cols,
                 result.type());
  }
  const int top = static_cast<int>(i) * frame_rows_;
  cv::Mat place = clip_.rowRange(top, top + frame_rows_);
  // Most operations have written there already.
  if (place.data == result.data) return;
  CV_Assert(place.size() == result.size() && place.type() == result.type());
  result.copyTo(place);
}

void ClipTransform::Run(int64_t item) {
  const Frames& frames = inputs_[item];
  // cv::randn and cv::randu draw from the thread's own generator, for which a
  // state of 0 is no state.
  const uint64_t state = random_.Next() | 1;
  const Random drawn = random_;
  for (size_t i = 0; i < frames.size(); ++i) {
    random_ = drawn;
    cv::theRNG().state = state;
    // The last clip's memory, which fits unless sizes differ.
    cv::Mat result;
    const int top = static_cast<int>(i) * frame_rows_;
    if (frame_rows_ > 0 && top + frame_rows_ <= clip_.rows) {
      result = clip_.rowRange(top, top + frame_rows_);
    }
    op_(frames[i], &random_, &result);
    Place(i, frames.size(), result);
  }
}

absl::StatusOr<Output> ClipTransform::RunForOutput(int64_t item) {
  Run(item);
  if (!clip_.isContinuous() || clip_.depth() != CV_8U) {
    return absl::InternalError("an output is not contiguous bytes");
  }
  Output output;
  output.data = clip_.data;
  output.bytes = static_cast<int64_t>(clip_.total() * clip_.elemSize());
  output.dtype = "uint8";
  output.layout = "THWC";
  output.shape = {static_cast<int64_t>(inputs_[item].size()), frame_rows_,
                  clip_.cols, clip_.channels()};
  return output;
}

}  // namespace feedrate
