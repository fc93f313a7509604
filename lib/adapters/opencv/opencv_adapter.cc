#include "lib/adapters/opencv/opencv_adapter.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/media/image.h"
#include "lib/ops/opencv/op.h"
#include "lib/ops/params.h"
#include "opencv2/core.hpp"
#include "opencv2/core/ocl.hpp"
#include "opencv2/core/utility.hpp"

namespace feedrate {
namespace {

// A header over the corpus, no copy. OpenCV's headers have no const; the
// read-only mapping prevents writes.
cv::Mat MatOf(const ImageView& image) {
  return cv::Mat(image.height, image.width, CV_8UC(image.channels),
                 const_cast<uint8_t*>(image.data));
}

class OpenCvTransform : public PreparedTransform {
 public:
  OpenCvTransform(Op op, const Corpus& corpus) : op_(std::move(op)) {
    inputs_.reserve(corpus.size());
    for (int64_t i = 0; i < corpus.size(); ++i) {
      inputs_.push_back(MatOf(corpus.image(i)));
    }
  }

  void Seed(uint64_t seed) override {
    random_ = Random(seed);
    // cv::randn and cv::randu draw from the thread's own generator, which must
    // not have the state 0.
    cv::theRNG().state = random_.Next() | 1;
  }

  void Run(int64_t item) override { op_(inputs_[item], &random_, &output_); }

  absl::StatusOr<Output> RunForOutput(int64_t item) override {
    Run(item);
    if (!output_.isContinuous() || output_.depth() != CV_8U) {
      return absl::InternalError("an output is not contiguous bytes");
    }
    Output output;
    output.data = output_.data;
    output.bytes = static_cast<int64_t>(output_.total() * output_.elemSize());
    output.dtype = "uint8";
    output.layout = "HWC";
    output.shape = {output_.rows, output_.cols, output_.channels()};
    return output;
  }

 private:
  Op op_;
  Random random_;
  std::vector<cv::Mat> inputs_;
  cv::Mat output_;
};

// An OpenCV operation on clips: applied to every frame, with one draw of
// parameters for the whole clip. The output is one block, frame after frame.
class ClipTransform : public PreparedTransform {
 public:
  // REQUIRES: a corpus of uint8 HWC, which outlives this.
  ClipTransform(Op op, const Corpus& corpus);

  void Seed(uint64_t seed) override { random_ = Random(seed); }
  void Run(int64_t item) override;
  absl::StatusOr<Output> RunForOutput(int64_t item) override;

 private:
  // The frames of one clip, as headers over the corpus.
  using Frames = std::vector<cv::Mat>;

  // Writes frame i of the output; the first frame allocates it.
  void Place(size_t i, size_t frames, const cv::Mat& result);

  Op op_;
  Random random_;
  std::vector<Frames> inputs_;
  // All frames, one below the other.
  cv::Mat clip_;
  int frame_rows_ = 0;
};

ClipTransform::ClipTransform(Op op, const Corpus& corpus) : op_(std::move(op)) {
  inputs_.resize(corpus.size());
  for (int64_t i = 0; i < corpus.size(); ++i) {
    const ItemView item = corpus.item(i);
    // OpenCV's headers have no const; the read-only mapping prevents writes.
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
  // As in OpenCvTransform::Seed.
  const uint64_t state = random_.Next() | 1;
  const Random drawn = random_;
  for (size_t i = 0; i < frames.size(); ++i) {
    random_ = drawn;
    cv::theRNG().state = state;
    // Reuses the last clip's memory, which fits unless sizes differ.
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

absl::Status CheckCorpus(const Corpus& corpus) {
  if (corpus.dtype() != DType::kUint8 || corpus.layout() != Layout::kHwc) {
    return absl::InvalidArgumentError("opencv needs a corpus of uint8 HWC");
  }
  for (int64_t i = 0; i < corpus.size(); ++i) {
    if ((corpus.item(i).frames > 1) != (corpus.item(0).frames > 1)) {
      return absl::InvalidArgumentError(
          absl::StrCat("opencv needs images or clips; item ", i,
                       " is not what the first is"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::string OpenCvAdapter::version() const { return cv::getVersionString(); }

int OpenCvAdapter::threads() const {
  // After setNumThreads(0) everything runs in the calling thread, but OpenCV
  // with TBB still returns the number of cores.
  return threads_told_ == 0 ? 1 : cv::getNumThreads();
}

absl::StatusOr<std::unique_ptr<PreparedTransform>> OpenCvAdapter::Prepare(
    const PrepareCommand& spec, const Corpus& corpus) {
  if (!spec.device().empty() && spec.device() != "cpu") {
    return absl::InvalidArgumentError(
        absl::StrCat("opencv runs on the cpu, not on ", spec.device()));
  }
  RETURN_IF_ERROR(CheckCorpus(corpus));
  // For OpenCV, 0 means no threads besides the calling one.
  threads_told_ = spec.has_opencv_threads() ? spec.opencv_threads() : -1;
  if (threads_told_ >= 0) cv::setNumThreads(threads_told_);
  cv::ocl::setUseOpenCL(spec.opencv_opencl());
  ASSIGN_OR_RETURN(Op op, MakeOp(TransformOf(spec)));
  if (corpus.item(0).frames > 1) {
    return std::make_unique<ClipTransform>(std::move(op), corpus);
  }
  return std::make_unique<OpenCvTransform>(std::move(op), corpus);
}

}  // namespace feedrate
