#include "lib/loader/sample/sample_maker.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/base/stopwatch.h"
#include "lib/loader/sample/fused_planes.h"
#include "lib/ops/params.h"

namespace feedrate {
namespace {

// OpenCV's headers take no const data; nothing is written.
cv::Mat MatOf(const PixelView& view) {
  return cv::Mat(view.height, view.width, CV_8UC(view.channels),
                 const_cast<uint8_t*>(view.data), view.stride);
}

PixelView ViewOf(const cv::Mat& mat) {
  PixelView view;
  view.data = mat.data;
  view.stride = static_cast<ptrdiff_t>(mat.step[0]);
  view.height = mat.rows;
  view.width = mat.cols;
  view.channels = mat.channels();
  return view;
}

// Repeats the channels until there are `channels` of them.
void RepeatChannels(const cv::Mat& in, int channels, cv::Mat* out) {
  out->create(in.size(), CV_8UC(channels));
  const int from = in.channels();
  for (int y = 0; y < in.rows; ++y) {
    const uint8_t* pixel = in.ptr(y);
    uint8_t* to = out->ptr(y);
    for (int x = 0; x < in.cols; ++x, pixel += from) {
      for (int c = 0; c < channels; c += from) {
        to = std::copy_n(pixel, from, to);
      }
    }
  }
}

// Parameters of the crop that all recipes share, as in the transform sets.
std::vector<std::string> CropParams(const Recipe& recipe) {
  std::vector<std::string> params = {
      absl::StrCat("size=(", recipe.crop, ",", recipe.width(), ")"),
      "pad_if_needed=True", "fill=0"};
  if (recipe.position == CropPosition::kRandom) {
    params.push_back("position=uniform");
  }
  return params;
}

// True if the step is always the same flip and nothing else.
bool IsFlip(const RecipeStep& step, int* code) {
  if (step.one_of.size() != 1) return false;
  const TransformSpec& spec = step.one_of[0];
  if (spec.native_op != "cv::flip" || !spec.wrap.empty()) return false;
  Params params(spec.params);
  *code = params.Integer("flip_code");
  return params.Finish().ok();
}

PlanesInput InputOf(const PixelView& image) {
  PlanesInput input;
  input.data = image.data;
  input.stride = image.stride;
  input.height = image.height;
  input.width = image.width;
  input.channels = image.channels;
  return input;
}

}  // namespace

SampleMaker::SampleMaker(const Recipe& recipe) : recipe_(recipe) {}

absl::StatusOr<std::unique_ptr<SampleMaker>> SampleMaker::Create(
    const Recipe& recipe) {
  if (recipe.channels < 1 || recipe.crop < 1 || recipe.mean.empty() ||
      recipe.mean.size() != recipe.std.size() || !(recipe.input_scale > 0) ||
      *std::min_element(recipe.std.begin(), recipe.std.end()) <= 0) {
    return absl::InvalidArgumentError(
        "a recipe needs channels, crop and input_scale above 0, and as many "
        "mean as std, all std above 0");
  }
  if (recipe.format == SampleFormat::kFloatPixels &&
      recipe.channels > kMostPixelChannels) {
    return absl::InvalidArgumentError(absl::StrCat(
        "channels-last floats have at most ", kMostPixelChannels,
        " channels, not ", recipe.channels, "; ask for channels first"));
  }
  std::unique_ptr<SampleMaker> maker(new SampleMaker(recipe));
  maker->normalization_ = MakeNormalization(
      recipe.mean, recipe.std, recipe.input_scale, recipe.channels);
  RETURN_IF_ERROR(maker->MakeCrop());
  RETURN_IF_ERROR(maker->AddSteps());
  RETURN_IF_ERROR(maker->FindShape());
  return maker;
}

absl::Status SampleMaker::MakeCrop() {
  if (recipe_.resize > 0) {
    if (recipe_.first_step_crops ||
        std::max(recipe_.crop, recipe_.width()) > recipe_.resize) {
      return absl::InvalidArgumentError(absl::StrCat(
          "resize=", recipe_.resize,
          " is the shorter side before the crop: it must be at least as large, "
          "and a transform that crops does without it"));
    }
    crop_ =
        MakeScaledCrop(recipe_.resize, cv::Size(recipe_.width(), recipe_.crop),
                       recipe_.position == CropPosition::kRandom);
    return absl::OkStatus();
  }
  if (!recipe_.first_step_crops) {
    Params params(CropParams(recipe_));
    crop_ = MakeFixedCrop(&params);
    return params.Finish();
  }
  if (recipe_.steps.empty() || recipe_.steps[0].one_of.size() != 1) {
    return absl::InvalidArgumentError("the first step is to be a crop");
  }
  const TransformSpec& spec = recipe_.steps[0].one_of[0];
  Params params(spec.params);
  crop_ = MakeCropPlan(spec.native_op, &params);
  if (crop_ == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(spec.transform, ": ", spec.native_op, " is not a crop"));
  }
  return params.Finish();
}

absl::Status SampleMaker::AddSteps() {
  const size_t first = recipe_.first_step_crops ? 1 : 0;
  size_t end = recipe_.steps.size();
  int code = 0;
  if (end > first && IsFlip(recipe_.steps[end - 1], &code)) {
    mirror_ = code != 0;
    upside_down_ = code <= 0;
    flip_probability_ = recipe_.steps[end - 1].probability;
    --end;
  }
  for (size_t i = first; i < end; ++i) {
    Step step;
    step.probability = recipe_.steps[i].probability;
    for (const TransformSpec& spec : recipe_.steps[i].one_of) {
      ASSIGN_OR_RETURN(Op op, MakeOp(spec));
      step.one_of.push_back(std::move(op));
    }
    if (step.one_of.empty()) {
      return absl::InvalidArgumentError("a step without a transform");
    }
    steps_.push_back(std::move(step));
  }
  return absl::OkStatus();
}

// Makes one sample: only the transforms know the output size.
absl::Status SampleMaker::FindShape() {
  const cv::Size size = crop_->size();
  if (size.empty()) {
    return absl::InvalidArgumentError(
        "the crop needs pad_if_needed=True, or samples differ in size");
  }
  const cv::Mat image(size, CV_8UC(recipe_.channels), cv::Scalar());
  Seed(0);
  try {
    const cv::Mat sample = Augment(image);
    shape_ = {recipe_.channels, sample.rows, sample.cols, recipe_.format};
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(
        absl::StrCat("the recipe throws on an image of ", recipe_.channels,
                     " channels: ", error.what()));
  }
  return absl::OkStatus();
}

void SampleMaker::Seed(uint64_t seed) {
  random_ = Random(seed);
  // cv::randn and cv::randu use the thread's own generator, whose state must
  // not be 0.
  cv::theRNG().state = random_.Next() | 1;
}

DecodeWindow SampleMaker::DrawWindow(int height, int width) {
  const cv::Rect rect = crop_->Window(cv::Size(width, height), &random_);
  return {rect.x, rect.y, rect.width, rect.height};
}

int SampleMaker::ShrinkFor(const DecodeWindow& window) const {
  if (!recipe_.scaled_decode || !crop_->resizes()) return 1;
  int shrink = 1;
  while (shrink < 8 && window.width >= crop_->size().width * shrink * 2 &&
         window.height >= crop_->size().height * shrink * 2) {
    shrink *= 2;
  }
  return shrink;
}

cv::Mat SampleMaker::Augment(const cv::Mat& window) {
  cv::Mat current = window;
  if (!steps_.empty() && current.channels() != recipe_.channels) {
    RepeatChannels(current, recipe_.channels, &repeated_);
    current = repeated_;
  }
  if (crop_->resizes() || current.size() != crop_->size() ||
      // Operations expect images without gaps.
      (!steps_.empty() && !current.isContinuous())) {
    crop_->Finish(current, &cropped_);
    current = cropped_;
  }
  for (Step& step : steps_) {
    if (step.probability < 1 && random_.Unit() >= step.probability) continue;
    const size_t choice =
        step.one_of.size() == 1 ? 0 : random_.Below(step.one_of.size());
    step.one_of[choice](current, &random_, &step.output);
    current = step.output;
  }
  return current;
}

absl::Status SampleMaker::Finish(const PixelView& window, void* out,
                                 SampleTimes* times) {
  if (recipe_.channels % window.channels != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("has ", window.channels, " channels, which do not make ",
                     recipe_.channels));
  }
  const int64_t begin = MonotonicNs();
  const cv::Mat sample = Augment(MatOf(window));
  const int64_t augmented = MonotonicNs();
  times->augment_ns += augmented - begin;
  if (sample.rows != shape_.height || sample.cols != shape_.width) {
    // Not the item's fault: no other item could take its place.
    if (sample.rows == shape_.width && sample.cols == shape_.height) {
      return absl::InternalError(absl::StrCat(
          "a transform turns it to ", sample.cols, "x", sample.rows,
          ", not the ", shape_.width, "x", shape_.height,
          " of the batch; leave it out, or crop squares"));
    }
    return absl::InvalidArgumentError(
        absl::StrCat("becomes ", sample.cols, "x", sample.rows, ", not the ",
                     shape_.width, "x", shape_.height, " of the batch"));
  }
  PixelView view = ViewOf(sample);
  // Drawn after all other steps, like a step of its own.
  const bool flip =
      flip_probability_ >= 1 || random_.Unit() < flip_probability_;
  if (flip && upside_down_) {
    view.data += (view.height - 1) * view.stride;
    view.stride = -view.stride;
  }
  Write(view, flip && mirror_, out);
  times->collate_ns += MonotonicNs() - augmented;
  return absl::OkStatus();
}

void SampleMaker::Write(const PixelView& sample, bool mirror, void* out) const {
  switch (shape_.format) {
    case SampleFormat::kFloatPlanes:
      return NormalizeToPlanes(sample, mirror, normalization_,
                               static_cast<float*>(out));
    case SampleFormat::kFloatPixels:
      return NormalizeToPixels(sample, mirror, normalization_,
                               static_cast<float*>(out));
    case SampleFormat::kBytePlanes:
      return CopyToPlanes(InputOf(sample), mirror, shape_.channels,
                          static_cast<uint8_t*>(out));
    case SampleFormat::kBytePixels:
      return CopyToPixels(InputOf(sample), mirror, shape_.channels,
                          static_cast<uint8_t*>(out));
  }
}

absl::Status SampleMaker::FromBytes(absl::string_view bytes,
                                    absl::string_view entries, uint64_t seed,
                                    void* out, SampleTimes* times,
                                    bool is_part) {
  Seed(seed);
  const int64_t begin = MonotonicNs();
  ASSIGN_OR_RETURN(const ImageInfo info, decoder_.Open(bytes));
  if (!entries.empty()) decoder_.UseEntries(entries, is_part);
  const DecodeWindow window = DrawWindow(info.height, info.width);
  ASSIGN_OR_RETURN(const PixelView pixels,
                   decoder_.Decode(window, ShrinkFor(window)));
  times->decode_ns += MonotonicNs() - begin;
  return Finish(pixels, out, times);
}

absl::Status SampleMaker::FromPixels(const PixelView& image, uint64_t seed,
                                     void* out, SampleTimes* times) {
  Seed(seed);
  const DecodeWindow window = DrawWindow(image.height, image.width);
  PixelView pixels = image;
  pixels.data += window.y * image.stride +
                 static_cast<ptrdiff_t>(window.x) * image.channels;
  pixels.height = window.height;
  pixels.width = window.width;
  return Finish(pixels, out, times);
}

DecodeWindow SampleMaker::WindowOf(int height, int width, uint64_t seed) {
  Seed(seed);
  return DrawWindow(height, width);
}

absl::Status SampleMaker::FromWindow(const PixelView& window, int height,
                                     int width, uint64_t seed, void* out,
                                     SampleTimes* times) {
  // What is drawn next must be what comes after the window.
  WindowOf(height, width, seed);
  return Finish(window, out, times);
}

absl::Status SampleMaker::FromFirst(absl::string_view bytes, uint64_t seed,
                                    void* out, SampleTimes* times) {
  if (first_.empty()) {
    ASSIGN_OR_RETURN(const ImageInfo info, decoder_.Open(bytes));
    ASSIGN_OR_RETURN(const PixelView whole,
                     decoder_.Decode({0, 0, info.width, info.height}));
    first_ = MatOf(whole).clone();
  }
  return FromPixels(ViewOf(first_), seed, out, times);
}

Normalization MakeNormalization(const std::vector<double>& mean,
                                const std::vector<double>& std,
                                double input_scale, int channels) {
  Normalization how;
  for (int c = 0; c < channels; ++c) {
    const double deviation = std[c % std.size()];
    how.scale.push_back(static_cast<float>(1 / (input_scale * deviation)));
    how.offset.push_back(
        static_cast<float>(-mean[c % mean.size()] / deviation));
  }
  return how;
}

void NormalizeToPlanes(const PixelView& image, bool mirror,
                       const Normalization& how, float* out) {
  const PlanesInput input = InputOf(image);
  const size_t plane = static_cast<size_t>(image.height) * image.width;
  for (int c = 0; c < how.channels(); c += image.channels) {
    PixelsToPlanes(input, mirror, &how.scale[c], &how.offset[c],
                   out + c * plane);
  }
}

void NormalizeToPixels(const PixelView& image, bool mirror,
                       const Normalization& how, float* out) {
  PixelsToPixels(InputOf(image), mirror, how.scale.data(), how.offset.data(),
                 how.channels(), out);
}

}  // namespace feedrate
