#include "lib/ops/opencv/op.h"

#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "opencv2/imgproc.hpp"

namespace feedrate {
namespace {

bool IsOdd(double value) { return value > 0 && std::fmod(value, 2) == 1; }

}  // namespace

int ReadInterpolation(Params* params) {
  return params->Word("interpolation",
                      {{"INTER_NEAREST", cv::INTER_NEAREST},
                       {"INTER_LINEAR", cv::INTER_LINEAR},
                       {"INTER_CUBIC", cv::INTER_CUBIC},
                       {"INTER_AREA", cv::INTER_AREA},
                       {"INTER_LANCZOS4", cv::INTER_LANCZOS4},
                       {"INTER_LINEAR_EXACT", cv::INTER_LINEAR_EXACT},
                       {"INTER_NEAREST_EXACT", cv::INTER_NEAREST_EXACT}});
}

int ReadBorder(Params* params) {
  if (!params->Has("border_mode")) return cv::BORDER_DEFAULT;
  return params->Word("border_mode",
                      {{"BORDER_CONSTANT", cv::BORDER_CONSTANT},
                       {"BORDER_REPLICATE", cv::BORDER_REPLICATE},
                       {"BORDER_REFLECT", cv::BORDER_REFLECT},
                       {"BORDER_WRAP", cv::BORDER_WRAP},
                       {"BORDER_REFLECT_101", cv::BORDER_REFLECT_101}});
}

Outside ReadOutside(Params* params) {
  Outside outside;
  outside.border = ReadBorder(params);
  if (outside.border == cv::BORDER_CONSTANT) {
    outside.fill = cv::Scalar::all(params->Number("fill"));
  }
  return outside;
}

cv::Size ReadSize(Params* params) {
  const std::vector<double> size = params->Tuple("size", 2);
  if (!(size[0] >= 1 && size[1] >= 1)) {
    params->Fail("size", "must be positive");
  }
  return cv::Size(cvRound(size[1]), cvRound(size[0]));
}

cv::Size ReadKernelSize(Params* params) {
  const bool tuple = params->IsTuple("ksize");
  std::vector<double> size =
      tuple ? params->Tuple("ksize", 2)
            : std::vector<double>(2, params->Number("ksize"));
  if (!IsOdd(size[0]) || !IsOdd(size[1])) {
    params->Fail("ksize", "must be odd");
    size = {1, 1};
  }
  return cv::Size(cvRound(size[0]), cvRound(size[1]));
}

namespace {

constexpr int kChunk = 3;
// The `wrap` of configs/transforms/ that asks for ChunkedOp.
constexpr char kPerChunk[] = "per 3-channel chunk, concat";

// Applies an operation to each three channels, with the same draws, and joins
// the results: for functions that take at most three channels. The number of
// channels must be a multiple of three.
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

const OpEntry* FindEntry(absl::string_view native_op) {
  for (const OpTable* table :
       {&ColorOps(), &CropOps(), &FilterOps(), &GeometryOps()}) {
    for (const OpEntry& entry : *table) {
      if (entry.native_op == native_op) return &entry;
    }
  }
  return nullptr;
}

}  // namespace

absl::StatusOr<Op> MakeOp(const TransformSpec& spec) {
  const OpEntry* entry = FindEntry(spec.native_op);
  if (entry == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(spec.transform, ": the opencv adapter has no operation ",
                     spec.native_op));
  }
  Params params(spec.params);
  Op op = entry->make(&params);
  const absl::Status status = params.Finish();
  if (!status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        spec.transform, ": ", spec.native_op, ": ", status.message()));
  }
  if (spec.wrap.empty()) return op;
  if (spec.wrap == kPerChunk) return Op(ChunkedOp(std::move(op)));
  return absl::InvalidArgumentError(
      absl::StrCat(spec.transform, ": the opencv adapter knows no wrap \"",
                   spec.wrap, "\""));
}

}  // namespace feedrate
