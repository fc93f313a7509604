#include "lib/adapters/opencv/rearrange.h"

#include <numeric>
#include <vector>

#include "lib/adapters/opencv/words.h"
#include "opencv2/core.hpp"

namespace feedrate {
namespace {

Op Flip(Params* params) {
  const int code = params->Integer("flip_code");
  return [code](const cv::Mat& in, Random*, cv::Mat* out) {
    cv::flip(in, *out, code);
  };
}

Op Transpose(Params*) {
  return
      [](const cv::Mat& in, Random*, cv::Mat* out) { cv::transpose(in, *out); };
}

Op Rotate(Params* params) {
  const Range times = params->DrawInteger("times");
  return [times](const cv::Mat& in, Random* random, cv::Mat* out) {
    constexpr cv::RotateFlags kTurns[] = {cv::ROTATE_90_COUNTERCLOCKWISE,
                                          cv::ROTATE_180,
                                          cv::ROTATE_90_CLOCKWISE};
    const int64_t turns = random->Integer(times) & 3;
    if (turns == 0) {
      in.copyTo(*out);
    } else {
      cv::rotate(in, *out, kTurns[turns - 1]);
    }
  };
}

Op Pad(Params* params) {
  const int padding = params->Integer("padding");
  const Outside outside = ReadOutside(params);
  if (padding < 0) params->Fail("padding", "is below 0");
  return [padding, outside](const cv::Mat& in, Random*, cv::Mat* out) {
    cv::copyMakeBorder(in, *out, padding, padding, padding, padding,
                       outside.border, outside.fill);
  };
}

// Tiles of one size change places; what the grid leaves over stays.
class Jigsaw {
 public:
  Jigsaw(int rows, int columns, std::vector<int> order)
      : rows_(rows), columns_(columns), order_(std::move(order)) {
    random_ = order_.empty();
    order_.resize(rows * columns);
  }

  void operator()(const cv::Mat& in, Random* random, cv::Mat* out) {
    if (random_) {
      // From the same start, so that a seed gives the same in every call.
      std::iota(order_.begin(), order_.end(), 0);
      random->Shuffle(&order_);
    }
    const cv::Size tile(in.cols / columns_, in.rows / rows_);
    in.copyTo(*out);
    if (tile.empty()) return;
    for (int i = 0; i < rows_ * columns_; ++i) {
      in(Place(order_[i], tile)).copyTo((*out)(Place(i, tile)));
    }
  }

 private:
  cv::Rect Place(int index, const cv::Size& tile) const {
    return cv::Rect(index % columns_ * tile.width,
                    index / columns_ * tile.height, tile.width, tile.height);
  }

  int rows_;
  int columns_;
  std::vector<int> order_;
  bool random_;
};

// Whether `order` names each of `count` places once.
bool IsPermutation(const std::vector<double>& order, int count) {
  std::vector<bool> seen(count, false);
  for (double place : order) {
    const int index = cvRound(place);
    if (index != place || index < 0 || index >= count || seen[index]) {
      return false;
    }
    seen[index] = true;
  }
  return order.size() == static_cast<size_t>(count);
}

Op MakeJigsaw(Params* params) {
  const std::vector<double> grid = params->Tuple("grid", 2);
  const int rows = cvRound(grid[0]), columns = cvRound(grid[1]);
  if (rows < 1 || columns < 1 || rows > 64 || columns > 64) {
    params->Fail("grid", "must be of 1 to 64 rows and columns");
    return nullptr;
  }
  std::vector<double> order;
  if (params->Has("order")) {
    order = params->Tuple("order");
    if (!IsPermutation(order, rows * columns)) {
      params->Fail("order", "must name each tile once, from 0");
      return nullptr;
    }
  }
  return Jigsaw(rows, columns, std::vector<int>(order.begin(), order.end()));
}

}  // namespace

const OpTable& RearrangeOps() {
  static const auto* const ops = new OpTable{
      {"cv::flip", Flip},
      {"cv::transpose", Transpose},
      {"cv::rotate", Rotate},
      {"cv::copyMakeBorder", Pad},
      {"cv::Mat(Rect)::copyTo", MakeJigsaw},
  };
  return *ops;
}

}  // namespace feedrate
