#include "lib/adapters/opencv/opencv_adapter.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/adapters/opencv/clip_transform.h"
#include "lib/adapters/opencv/make_op.h"
#include "lib/adapters/opencv/op.h"
#include "lib/adapters/worker/random.h"
#include "lib/base/status_macros.h"
#include "lib/media/image.h"
#include "opencv2/core.hpp"
#include "opencv2/core/ocl.hpp"
#include "opencv2/core/utility.hpp"

namespace feedrate {
namespace {

// A header over the corpus, no copy. OpenCV's headers know no const; that
// nobody writes is seen to by the mapping, which is read-only.
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
    // cv::randn and cv::randu draw from the thread's own generator, for which
    // a state of 0 is no state.
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
  // After setNumThreads(0) everything runs in the caller, but OpenCV over TBB
  // still gives the number of cores as its threads.
  return threads_told_ == 0 ? 1 : cv::getNumThreads();
}

absl::StatusOr<std::unique_ptr<PreparedTransform>> OpenCvAdapter::Prepare(
    const TransformSpec& spec, const Corpus& corpus) {
  if (!spec.device.empty() && spec.device != "cpu") {
    return absl::InvalidArgumentError(
        absl::StrCat("opencv runs on the cpu, not on ", spec.device));
  }
  RETURN_IF_ERROR(CheckCorpus(corpus));
  // OpenCV takes 0 as "no threads but the caller's".
  threads_told_ = spec.opencv_threads;
  if (threads_told_ >= 0) cv::setNumThreads(threads_told_);
  cv::ocl::setUseOpenCL(spec.opencv_opencl);
  ASSIGN_OR_RETURN(Op op, MakeOp(spec));
  if (corpus.item(0).frames > 1) {
    return std::make_unique<ClipTransform>(std::move(op), corpus);
  }
  return std::make_unique<OpenCvTransform>(std::move(op), corpus);
}

}  // namespace feedrate
