#include "lib/adapters/opencv/crop_plan.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "lib/adapters/opencv/words.h"
#include "lib/adapters/worker/resized_window.h"
#include "opencv2/core.hpp"
#include "opencv2/imgproc.hpp"

namespace feedrate {
namespace {

enum class Position { kCentre, kUniform, kFixed };

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
    // To pad first and then to crop gives the same, with more to copy.
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
      case Position::kCentre:
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

}  // namespace

std::unique_ptr<CropPlan> MakeFixedCrop(Params* params) {
  const cv::Size size = ReadSize(params);
  const bool pad = params->Boolean("pad_if_needed");
  const cv::Scalar fill = cv::Scalar::all(params->Number("fill"));
  Position position = Position::kCentre;
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

std::unique_ptr<CropPlan> MakeCropPlan(absl::string_view native_op,
                                       Params* params) {
  if (native_op == "cv::Mat(Rect)+cv::copyMakeBorder") {
    return MakeFixedCrop(params);
  }
  if (native_op == "cv::Mat(Rect)+cv::resize") return MakeResizedCrop(params);
  return nullptr;
}

}  // namespace feedrate
