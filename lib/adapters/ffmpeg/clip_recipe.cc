#include "lib/adapters/ffmpeg/clip_recipe.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/adapters/opencv/make_op.h"
#include "lib/adapters/opencv/op.h"
#include "lib/adapters/worker/random.h"
#include "lib/base/status_macros.h"
#include "lib/media/corpus.h"
#include "lib/media/video/clip_reader.h"
#include "opencv2/core.hpp"

namespace feedrate {
namespace {

constexpr int kChannels = 3;

// Vector loads take three channels apart; the compiler finds them here.
void ToPlanes(const uint8_t* __restrict in, int64_t pixels, const float* scale,
              const float* offset, float* __restrict red,
              float* __restrict green, float* __restrict blue) {
  const float scale_red = scale[0], offset_red = offset[0];
  const float scale_green = scale[1], offset_green = offset[1];
  const float scale_blue = scale[2], offset_blue = offset[2];
  for (int64_t i = 0; i < pixels; ++i) {
    red[i] = static_cast<float>(in[3 * i]) * scale_red + offset_red;
    green[i] = static_cast<float>(in[3 * i + 1]) * scale_green + offset_green;
    blue[i] = static_cast<float>(in[3 * i + 2]) * scale_blue + offset_blue;
  }
}

}  // namespace

ClipRecipe::ClipRecipe(const TransformSpec& spec, const LoaderInput& input,
                       Op op)
    : spec_(*spec.loader), input_(input), op_(std::move(op)) {
  for (int c = 0; c < kChannels; ++c) {
    const double std = spec_.std[c % spec_.std.size()];
    const double mean = spec_.mean[c % spec_.mean.size()];
    scale_.push_back(static_cast<float>(1 / (spec_.input_scale * std)));
    offset_.push_back(static_cast<float>(-mean / std));
  }
}

absl::StatusOr<std::unique_ptr<ClipRecipe>> ClipRecipe::Make(
    const TransformSpec& spec, const LoaderInput& input) {
  ASSIGN_OR_RETURN(Op op, MakeOp(spec));
  std::unique_ptr<ClipRecipe> recipe(
      new ClipRecipe(spec, input, std::move(op)));
  if (recipe->items() == 0 || recipe->frames() == 0) {
    return absl::InvalidArgumentError("there are no clips");
  }
  return recipe;
}

int64_t ClipRecipe::items() const {
  return input_.corpus != nullptr ? input_.corpus->size()
                                  : static_cast<int64_t>(input_.files.size());
}

int ClipRecipe::frames() const {
  return input_.corpus != nullptr
             ? input_.corpus->item(0).frames
             : static_cast<int>(input_.files[0].frames.size());
}

int64_t ClipRecipe::values() const {
  return int64_t{frames()} * kChannels * spec_.crop * spec_.crop;
}

absl::Status ClipRecipe::Decode(int64_t item) {
  const uint8_t* data = nullptr;
  int height = 0;
  int width = 0;
  if (input_.corpus != nullptr) {
    const ItemView view = input_.corpus->item(item);
    data = static_cast<const uint8_t*>(view.data);
    height = view.height;
    width = view.width;
  } else {
    const SourceFile& file = input_.files[item];
    ASSIGN_OR_RETURN(const std::unique_ptr<ClipReader> reader,
                     ClipReader::Open(file.path, 1));
    height = reader->info().height;
    width = reader->info().width;
    rgb_.resize(file.frames.size() * reader->FrameBytes());
    RETURN_IF_ERROR(reader->Read(file.frames, rgb_.data()));
    data = rgb_.data();
  }
  frames_.clear();
  for (int i = 0; i < frames(); ++i) {
    const int64_t bytes = int64_t{kChannels} * height * width;
    frames_.push_back(cv::Mat(height, width, CV_8UC3,
                              const_cast<uint8_t*>(data + i * bytes)));
  }
  return absl::OkStatus();
}

cv::Rect ClipRecipe::DrawCrop(const cv::Size& size, Random* random) const {
  const auto begin = [&](int length) {
    const int room = std::max(0, length - spec_.crop);
    if (spec_.crop_position == "center") return room / 2;
    return static_cast<int>(random->Next() % static_cast<uint64_t>(room + 1));
  };
  const int left = begin(size.width);
  const int top = begin(size.height);
  return cv::Rect(left, top, spec_.crop, spec_.crop);
}

void ClipRecipe::Normalise(const cv::Mat& frame, float* out) const {
  const int64_t plane = int64_t{spec_.crop} * spec_.crop;
  for (int row = 0; row < frame.rows; ++row) {
    float* const at = out + int64_t{row} * frame.cols;
    ToPlanes(frame.ptr<uint8_t>(row), frame.cols, scale_.data(), offset_.data(),
             at, at + plane, at + 2 * plane);
  }
}

absl::Status ClipRecipe::Load(int64_t item, uint64_t seed, float* out) {
  RETURN_IF_ERROR(Decode(item));
  Random random(seed);
  const cv::Rect crop = DrawCrop(frames_[0].size(), &random);
  // cv::randn and cv::randu draw from the thread's own generator.
  const uint64_t state = random.Next() | 1;
  for (const cv::Mat& frame : frames_) {
    const cv::Mat* input = &frame;
    const int down = std::max(0, spec_.crop - frame.rows);
    const int right = std::max(0, spec_.crop - frame.cols);
    if (!spec_.is_crop && (down > 0 || right > 0)) {
      cv::copyMakeBorder(frame, padded_, down / 2, down - down / 2, right / 2,
                         right - right / 2, cv::BORDER_CONSTANT);
      input = &padded_;
    }
    if (!spec_.is_crop) {
      // Operations want rows without gaps.
      (*input)(crop).copyTo(cropped_);
      input = &cropped_;
    }
    Random drawn = random;
    cv::theRNG().state = state;
    op_(*input, &drawn, &changed_);
    if (changed_.rows != spec_.crop || changed_.cols != spec_.crop ||
        changed_.type() != CV_8UC3) {
      return absl::InvalidArgumentError(
          absl::StrCat("the transform gives ", changed_.cols, "x",
                       changed_.rows, ", not ", spec_.crop, "x", spec_.crop));
    }
    Normalise(changed_, out);
    out += int64_t{kChannels} * spec_.crop * spec_.crop;
  }
  return absl::OkStatus();
}

}  // namespace feedrate
