#include "lib/ops/opencv/crop.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "lib/media/resample.h"
#include "lib/ops/params.h"
#include "opencv2/imgproc.hpp"

namespace feedrate {
namespace {

enum class Position { kCenter, kUniform, kFixed };

class FixedCrop : public CropPlan {
 public:
  FixedCrop(cv::Size size, Position position, cv::Point corner, bool pad,
            cv::Scalar fill)
      : size_(size),
        position_(position),
        corner_(corner),
        pad_(pad),
        fill_(fill) {}

  cv::Rect Window(const cv::Size& image, Random* random) const override {
    const cv::Size kept(std::min(size_.width, image.width),
                        std::min(size_.height, image.height));
    return cv::Rect(Corner(image, kept, random), kept);
  }

  void Finish(const cv::Mat& window, cv::Mat* out) const override {
    if (window.size() == size_ || !pad_) {
      window.copyTo(*out);
      return;
    }
    // Padding before cropping would give the same, with more to copy.
    const int top = (size_.height - window.rows) / 2;
    const int left = (size_.width - window.cols) / 2;
    cv::copyMakeBorder(window, *out, top, size_.height - window.rows - top,
                       left, size_.width - window.cols - left,
                       cv::BORDER_CONSTANT | cv::BORDER_ISOLATED, fill_);
  }

  cv::Size size() const override { return pad_ ? size_ : cv::Size(); }
  bool resizes() const override { return false; }
  cv::Scalar fill() const override { return fill_; }

 private:
  cv::Point Corner(const cv::Size& image, cv::Size kept, Random* random) const {
    const int free_x = image.width - kept.width;
    const int free_y = image.height - kept.height;
    switch (position_) {
      case Position::kCenter:
        return {free_x / 2, free_y / 2};
      case Position::kUniform: {
        const int y = static_cast<int>(random->Below(free_y + 1));
        return {static_cast<int>(random->Below(free_x + 1)), y};
      }
      case Position::kFixed:
        return {std::min(corner_.x, free_x), std::min(corner_.y, free_y)};
    }
    return {};
  }

  cv::Size size_;
  Position position_;
  cv::Point corner_;
  bool pad_;
  cv::Scalar fill_;
};

class ResizedCrop : public CropPlan {
 public:
  ResizedCrop(cv::Size size, int interpolation, WindowShape shape)
      : size_(size), interpolation_(interpolation), shape_(shape) {}

  cv::Rect Window(const cv::Size& image, Random* random) const override {
    const DrawnWindow window =
        DrawResizedWindow(shape_, image.height, image.width, random);
    return cv::Rect(window.x, window.y, window.width, window.height);
  }
  void Finish(const cv::Mat& window, cv::Mat* out) const override {
    cv::resize(window, *out, size_, 0, 0, interpolation_);
  }
  cv::Size size() const override { return size_; }
  bool resizes() const override { return true; }

 private:
  cv::Size size_;
  int interpolation_;
  WindowShape shape_;
};

class ScaledCrop : public CropPlan {
 public:
  ScaledCrop(int side, cv::Size size, bool at_random)
      : side_(side),
        size_(size),
        at_random_(at_random),
        resampler_(size.height, size.width, ResampleFilter::kBilinear,
                   {0, 0, size.height, size.width}) {}

  cv::Rect Window(const cv::Size& image, Random* random) const override {
    const double scale =
        static_cast<double>(std::min(image.width, image.height)) / side_;
    const auto length = [scale](int wanted, int whole) {
      return std::clamp(static_cast<int>(std::lround(wanted * scale)), 1,
                        whole);
    };
    const cv::Size kept(length(size_.width, image.width),
                        length(size_.height, image.height));
    const int free_x = image.width - kept.width;
    const int free_y = image.height - kept.height;
    if (!at_random_) return {cv::Point(free_x / 2, free_y / 2), kept};
    const int y = static_cast<int>(random->Below(free_y + 1));
    return {cv::Point(static_cast<int>(random->Below(free_x + 1)), y), kept};
  }
  void Finish(const cv::Mat& window, cv::Mat* out) const override {
    CV_Assert(window.type() == CV_8UC3);
    out->create(size_, CV_8UC3);
    resampler_.Plan(window.rows, window.cols);
    resampler_.Run(window.data, window.step[0], out->data, out->step[0]);
  }
  cv::Size size() const override { return size_; }
  bool resizes() const override { return true; }

 private:
  int side_;
  cv::Size size_;
  bool at_random_;
  mutable Resampler resampler_;
};

// A window of a drawn size and ratio, resized to a fixed size.
std::unique_ptr<CropPlan> MakeResizedCrop(Params* params) {
  const cv::Size size = ReadSize(params);
  const int interpolation = ReadInterpolation(params);
  WindowShape shape;
  const std::vector<double> scale = params->Tuple("scale", 2);
  const std::vector<double> ratio = params->Tuple("ratio", 2);
  shape.area = {scale[0], scale[1]};
  shape.ratio = {ratio[0], ratio[1]};
  shape.tries = params->Integer("tries");
  params->Word("fallback", {{"center", 0}});
  if (!(ratio[0] > 0 && ratio[0] <= ratio[1])) {
    params->Fail("ratio", "must be positive and ascending");
  }
  if (!(scale[0] >= 0 && scale[0] <= scale[1])) {
    params->Fail("scale", "must be positive and ascending");
  }
  return std::make_unique<ResizedCrop>(size, interpolation, shape);
}

}  // namespace

std::unique_ptr<CropPlan> MakeFixedCrop(Params* params) {
  const cv::Size size = ReadSize(params);
  const bool pad = params->Boolean("pad_if_needed");
  const cv::Scalar fill = cv::Scalar::all(params->Number("fill"));
  Position position = Position::kCenter;
  cv::Point corner;
  if (params->Has("position")) {
    if (params->Text("position") == "uniform") {
      position = Position::kUniform;
    } else {
      position = Position::kFixed;
      const std::vector<double> at = params->Tuple("position", 2);
      corner = cv::Point(cvRound(at[1]), cvRound(at[0]));
      if (corner.x < 0 || corner.y < 0) {
        params->Fail("position", "is outside the image");
      }
    }
  }
  return std::make_unique<FixedCrop>(size, position, corner, pad, fill);
}

std::unique_ptr<CropPlan> MakeScaledCrop(int side, cv::Size size,
                                         bool at_random) {
  return std::make_unique<ScaledCrop>(side, size, at_random);
}

std::unique_ptr<CropPlan> MakeCropPlan(absl::string_view native_op,
                                       Params* params) {
  if (native_op == "cv::Mat(Rect)+cv::copyMakeBorder") {
    return MakeFixedCrop(params);
  }
  if (native_op == "cv::Mat(Rect)+cv::resize") return MakeResizedCrop(params);
  return nullptr;
}

namespace {

Op ResizeTo(cv::Size size, int interpolation) {
  return [size, interpolation](const cv::Mat& in, Random*, cv::Mat* out) {
    cv::resize(in, *out, size, 0, 0, interpolation);
  };
}

Op ResizeSide(int side, bool longest, int interpolation) {
  return [=](const cv::Mat& in, Random*, cv::Mat* out) {
    const int from =
        longest ? std::max(in.rows, in.cols) : std::min(in.rows, in.cols);
    const auto scaled = [side, from](int64_t length) {
      return static_cast<int>(std::max<int64_t>(1, length * side / from));
    };
    cv::resize(in, *out, cv::Size(scaled(in.cols), scaled(in.rows)), 0, 0,
               interpolation);
  };
}

Op Resize(Params* params) {
  const int interpolation = ReadInterpolation(params);
  if (!params->Has("max_size")) {
    return ResizeTo(ReadSize(params), interpolation);
  }
  const int side = params->Integer("max_size");
  if (side < 1) params->Fail("max_size", "must be positive");
  const bool longest =
      params->Word("side", {{"shortest", 0}, {"longest", 1}}) == 1;
  return ResizeSide(side, longest, interpolation);
}

// Any plan as an operation on a whole image.
Op AsOp(std::shared_ptr<const CropPlan> plan) {
  return [plan](const cv::Mat& in, Random* random, cv::Mat* out) {
    plan->Finish(in(plan->Window(in.size(), random)), out);
  };
}

Op FixedCropOp(Params* params) { return AsOp(MakeFixedCrop(params)); }
Op ResizedCropOp(Params* params) { return AsOp(MakeResizedCrop(params)); }

}  // namespace

const OpTable& CropOps() {
  static const auto* const ops = new OpTable{
      // interpolation, and size=(height,width); or max_size with
      // side=longest|shortest, which keeps the aspect ratio and rounds the
      // other side down.
      {"cv::resize", Resize},
      // size; position=uniform or (top,left), the center when missing;
      // pad_if_needed, fill.
      {"cv::Mat(Rect)+cv::copyMakeBorder", FixedCropOp},
      // size, scale, ratio, tries, interpolation; fallback=center.
      {"cv::Mat(Rect)+cv::resize", ResizedCropOp},
  };
  return *ops;
}

}  // namespace feedrate
