#include "lib/adapters/opencv/crop.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "lib/adapters/opencv/words.h"
#include "opencv2/core.hpp"
#include "opencv2/imgproc.hpp"

namespace feedrate {
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

enum class Position { kCentre, kUniform, kFixed };

// A window of a fixed size; where the image is smaller, centred on zeros.
class Crop {
 public:
  Crop(cv::Size size, Position position, cv::Point corner, bool pad,
       cv::Scalar fill)
      : size_(size),
        position_(position),
        corner_(corner),
        pad_(pad),
        fill_(fill) {}

  void operator()(const cv::Mat& in, Random* random, cv::Mat* out) {
    const cv::Size kept(std::min(size_.width, in.cols),
                        std::min(size_.height, in.rows));
    const cv::Mat window = in(cv::Rect(Corner(in, kept, random), kept));
    if (kept == size_ || !pad_) {
      window.copyTo(*out);
      return;
    }
    // To pad first and then to crop gives the same, with more to copy.
    const int top = (size_.height - kept.height) / 2;
    const int left = (size_.width - kept.width) / 2;
    cv::copyMakeBorder(window, *out, top, size_.height - kept.height - top,
                       left, size_.width - kept.width - left,
                       cv::BORDER_CONSTANT | cv::BORDER_ISOLATED, fill_);
  }

 private:
  cv::Point Corner(const cv::Mat& in, cv::Size kept, Random* random) const {
    const int free_x = in.cols - kept.width, free_y = in.rows - kept.height;
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

Op MakeCrop(Params* params) {
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
  return Crop(size, position, corner, pad, fill);
}

struct Shape {
  Range area;   // of the image
  Range ratio;  // width to height
  int tries = 0;
};

// The largest window in the middle whose ratio is in range.
cv::Rect CentralWindow(const Shape& shape, const cv::Size& image) {
  const double ratio = static_cast<double>(image.width) / image.height;
  cv::Size size = image;
  if (ratio < shape.ratio.low) {
    size.height = cvRound(image.width / shape.ratio.low);
  } else if (ratio > shape.ratio.high) {
    size.width = cvRound(image.height * shape.ratio.high);
  }
  return cv::Rect((image.width - size.width) / 2,
                  (image.height - size.height) / 2, size.width, size.height);
}

cv::Rect DrawWindow(const Shape& shape, const cv::Size& image, Random* random) {
  const Range log_ratio = {std::log(shape.ratio.low),
                           std::log(shape.ratio.high)};
  for (int i = 0; i < shape.tries; ++i) {
    const double area = static_cast<double>(image.width) * image.height *
                        random->Uniform(shape.area);
    const double ratio = std::exp(random->Uniform(log_ratio));
    const int width = cvRound(std::sqrt(area * ratio));
    const int height = cvRound(std::sqrt(area / ratio));
    if (width < 1 || height < 1 || width > image.width ||
        height > image.height) {
      continue;
    }
    const int y = static_cast<int>(random->Below(image.height - height + 1));
    const int x = static_cast<int>(random->Below(image.width - width + 1));
    return cv::Rect(x, y, width, height);
  }
  return CentralWindow(shape, image);
}

Op CropAndResize(Params* params) {
  const cv::Size size = ReadSize(params);
  const int interpolation = ReadInterpolation(params);
  Shape shape;
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
  return [=](const cv::Mat& in, Random* random, cv::Mat* out) {
    const cv::Rect window = DrawWindow(shape, in.size(), random);
    cv::resize(in(window), *out, size, 0, 0, interpolation);
  };
}

}  // namespace

const OpTable& CropOps() {
  static const auto* const ops = new OpTable{
      {"cv::resize", Resize},
      {"cv::Mat(Rect)+cv::copyMakeBorder", MakeCrop},
      {"cv::Mat(Rect)+cv::resize", CropAndResize},
  };
  return *ops;
}

}  // namespace feedrate
