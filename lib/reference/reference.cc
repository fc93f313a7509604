#include "lib/reference/reference.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/base/status_macros.h"
#include "lib/reference/color.h"
#include "lib/reference/filter.h"
#include "lib/reference/geometry.h"

namespace feedrate {
namespace {

using Outputs = std::vector<Pixels>;
// Reads all its arguments, then computes. The result for wrong arguments is
// discarded, but computing it must not crash.
using Op = Outputs (*)(Arguments&, const Pixels&);

int AtLeast(int least, const char* name, Arguments& args) {
  const int value = args.Integer(name);
  if (value < least) args.Complain(absl::StrCat(name, " is below ", least));
  return std::max(value, least);
}

int InRange(int low, int high, const char* name, Arguments& args) {
  const int value = AtLeast(low, name, args);
  if (value > high) args.Complain(absl::StrCat(name, " is above ", high));
  return std::min(value, high);
}

int OddSize(const char* name, Arguments& args) {
  const int size = AtLeast(1, name, args);
  if (size % 2 == 0) args.Complain(absl::StrCat(name, " is not odd"));
  return size | 1;
}

double Positive(const char* name, Arguments& args) {
  const double value = args.Number(name);
  if (!(value > 0)) args.Complain(absl::StrCat(name, " is not positive"));
  return value > 0 ? value : 1;
}

Border BorderOf(Arguments& args) {
  return args.Word("border", {"reflect", "replicate"}) == "replicate"
             ? Border::kReplicate
             : Border::kReflect;
}

// Color transforms work on groups of three channels and reject other images.
Pixels ColorImage(Arguments& args, const Pixels& image) {
  if (image.channels % 3 == 0) return image;
  args.Complain(absl::StrCat("the image has ", image.channels,
                             " channels, not a multiple of three"));
  return Pixels();
}

Outputs CenterCropOp(Arguments& args, const Pixels& image) {
  const int height = AtLeast(1, "height", args);
  const int width = AtLeast(1, "width", args);
  return {CropCenter(image, height, width)};
}

Outputs ResizedSquareOp(Arguments& args, const Pixels& image) {
  const int side = AtLeast(1, "side", args);
  return {Resize(CenterSquare(image), side, side)};
}

Outputs ResizeOp(Arguments& args, const Pixels& image) {
  const int height = AtLeast(1, "height", args);
  const int width = AtLeast(1, "width", args);
  return {Resize(image, height, width)};
}

Outputs LongestSideOp(Arguments& args, const Pixels& image) {
  const Size size = LongestSide(image, AtLeast(1, "side", args));
  return {Resize(image, size.height, size.width)};
}

Outputs ShortestSideOp(Arguments& args, const Pixels& image) {
  const Size size = ShortestSide(image, AtLeast(1, "side", args));
  return {Resize(image, size.height, size.width)};
}

Outputs AffineOp(Arguments& args, const Pixels& image) {
  const double degrees = args.Number("degrees");
  const double scale = args.NumberOr("scale", 1);
  const Point shift = {args.NumberOr("shift_x", 0),
                       args.NumberOr("shift_y", 0)};
  if (scale <= 0) args.Complain("scale is not positive");
  return {Affine(image, degrees, scale <= 0 ? 1 : scale, shift)};
}

Outputs PerspectiveOp(Arguments& args, const Pixels& image) {
  const std::vector<double> numbers = args.Numbers("read_at", 8);
  std::array<double, 8> h;
  std::copy(numbers.begin(), numbers.end(), h.begin());
  return {Perspective(image, h)};
}

Outputs RotateQuartersOp(Arguments&, const Pixels& image) {
  return {RotateQuarters(image, 0), RotateQuarters(image, 1),
          RotateQuarters(image, 2), RotateQuarters(image, 3)};
}

Outputs DropChannelOp(Arguments&, const Pixels& image) {
  Outputs outputs;
  for (int c = 0; c < image.channels; ++c) {
    outputs.push_back(DropChannel(image, c));
  }
  return outputs;
}

Pixels Jitter(Arguments& args, const Pixels& image) {
  const double brightness = args.Number("brightness");
  const double contrast = args.Number("contrast");
  const double saturation = args.Number("saturation");
  // Only then do the three commute: none of them saturates.
  for (double factor : {brightness, contrast, saturation}) {
    if (factor < 0 || factor > 1) args.Complain("a factor is not in 0..1");
  }
  return AdjustSaturation(
      AdjustContrast(Multiply(ColorImage(args, image), brightness), contrast),
      saturation);
}

Outputs JitterOp(Arguments& args, const Pixels& image) {
  return {Jitter(args, image)};
}

Outputs JitterAnyOrderOp(Arguments& args, const Pixels& image) {
  const Pixels jittered = Jitter(args, image);
  if (jittered.channels != 3) {
    args.Complain("the image has not three channels");
    return {};
  }
  Outputs outputs;
  std::vector<int> order = {0, 1, 2};
  do {
    outputs.push_back(OrderChannels(jittered, order));
  } while (std::next_permutation(order.begin(), order.end()));
  return outputs;
}

Outputs GaussianBlurOp(Arguments& args, const Pixels& image) {
  const int size = OddSize("size", args);
  const double sigma = Positive("sigma", args);
  return {Filter(image, GaussianKernel(size, sigma), Border::kReflect)};
}

Outputs BoxBlurOp(Arguments& args, const Pixels& image) {
  const int height = OddSize("height", args);
  const int width = OddSize("width", args);
  return {Filter(image, BoxKernel(height, width), Border::kReflect)};
}

Outputs KernelOp(Arguments& args, const Pixels& image) {
  Kernel kernel{3, 3, args.Numbers("kernel", 9)};
  const double scale = Positive("scale", args);
  for (double& weight : kernel.weights) weight /= scale;
  return {Filter(image, kernel, BorderOf(args))};
}

Outputs MedianOp(Arguments& args, const Pixels& image) {
  const int size = OddSize("size", args);
  return {Median(image, size, BorderOf(args))};
}

Outputs UnsharpMaskOp(Arguments& args, const Pixels& image) {
  const int size = OddSize("size", args);
  const double sigma = Positive("sigma", args);
  const double amount = args.Number("amount");
  const double threshold = args.Number("threshold");
  return {UnsharpMask(image, size, sigma, amount, threshold)};
}

Outputs ClaheOp(Arguments& args, const Pixels& image) {
  const double clip_limit = Positive("clip_limit", args);
  const int tiles = AtLeast(1, "tiles", args);
  if (image.channels != 3 || tiles > std::min(image.height, image.width)) {
    args.Complain(
        "the image has not three channels, or fewer pixels than "
        "tiles on a side");
    return {};
  }
  return {EqualizeTiles(image, clip_limit, tiles)};
}

Outputs LightFromSideOp(Arguments& args, const Pixels& image) {
  const double gain = args.Number("gain");
  Outputs outputs;
  for (Side side : {Side::kTop, Side::kBottom, Side::kLeft, Side::kRight}) {
    outputs.push_back(LightFromSide(image, gain, side));
  }
  return outputs;
}

Outputs LightFromCornerOp(Arguments& args, const Pixels& image) {
  const double gain = args.Number("gain");
  Outputs outputs;
  for (bool bottom : {false, true}) {
    for (bool right : {false, true}) {
      outputs.push_back(LightFromCorner(image, gain, bottom, right));
    }
  }
  return outputs;
}

Outputs LightFromPointOp(Arguments& args, const Pixels& image) {
  const double gain = args.Number("gain");
  const double x = args.Number("x");
  const double y = args.Number("y");
  return {LightFromPoint(image, gain, x, y, Positive("sigma", args))};
}

Outputs SnowOp(Arguments& args, const Pixels& image) {
  const double point = args.Number("point");
  const double factor = args.Number("factor");
  return {BleachDark(ColorImage(args, image), point, factor)};
}

const std::map<std::string, Op>& Ops() {
  using A = Arguments&;
  using P = const Pixels&;
  static const auto& ops = *new std::map<std::string, Op>{
      {"affine", AffineOp},
      {"box_blur", BoxBlurOp},
      {"center_crop", CenterCropOp},
      {"clahe", ClaheOp},
      {"contrast",
       [](A a, P image) {
         const double factor = a.Number("factor");
         return Outputs{AdjustContrast(ColorImage(a, image), factor)};
       }},
      {"drop_some_channel", DropChannelOp},
      {"equalize", [](A, P i) { return Outputs{EqualizeHistogram(i)}; }},
      {"fisheye",
       [](A a, P i) { return Outputs{Fisheye(i, a.Number("strength"))}; }},
      {"flip_horizontally",
       [](A, P i) { return Outputs{FlipHorizontally(i)}; }},
      {"flip_vertically", [](A, P i) { return Outputs{FlipVertically(i)}; }},
      {"gamma",
       [](A a, P i) { return Outputs{Gamma(i, Positive("gamma", a))}; }},
      {"gaussian_blur", GaussianBlurOp},
      {"grayscale",
       [](A a, P i) { return Outputs{Grayscale(ColorImage(a, i))}; }},
      {"hue",
       [](A a, P i) {
         const double turns = a.Number("turns");
         return Outputs{ShiftHue(ColorImage(a, i), turns)};
       }},
      {"invert", [](A, P i) { return Outputs{Invert(i)}; }},
      {"jitter", JitterOp},
      {"jitter_in_some_channel_order", JitterAnyOrderOp},
      {"jpeg",
       [](A a, P i) {
         const int quality = InRange(1, 100, "quality", a);
         return Outputs{JpegRoundTrip(ColorImage(a, i), quality)};
       }},
      {"kernel", KernelOp},
      {"light_from_point", LightFromPointOp},
      {"light_from_some_corner", LightFromCornerOp},
      {"light_from_some_side", LightFromSideOp},
      {"longest_side", LongestSideOp},
      {"median", MedianOp},
      {"multiply",
       [](A a, P i) { return Outputs{Multiply(i, a.Number("factor"))}; }},
      {"multiply_channels",
       [](A a, P i) {
         return Outputs{MultiplyChannels(i, a.Numbers("factors", 3))};
       }},
      {"pad",
       [](A a, P i) {
         return Outputs{PadWithZeros(i, AtLeast(0, "border", a))};
       }},
      {"perspective", PerspectiveOp},
      {"posterize",
       [](A a, P i) {
         return Outputs{Posterize(i, InRange(1, 8, "bits", a))};
       }},
      {"resize", ResizeOp},
      {"resize_center_square", ResizedSquareOp},
      {"rotate_some_quarters", RotateQuartersOp},
      {"saturation",
       [](A a, P i) {
         const double factor = a.Number("factor");
         return Outputs{AdjustSaturation(ColorImage(a, i), factor)};
       }},
      {"sharpen",
       [](A a, P i) { return Outputs{Sharpen(i, a.Number("factor"))}; }},
      {"shear_x",
       [](A a, P i) { return Outputs{ShearX(i, a.Number("degrees"))}; }},
      {"shift_channels",
       [](A a, P i) {
         return Outputs{ShiftChannels(i, a.Numbers("shifts", 3))};
       }},
      {"shortest_side", ShortestSideOp},
      {"snow", SnowOp},
      {"solarize",
       [](A a, P i) { return Outputs{Solarize(i, a.Number("threshold"))}; }},
      {"stretch_contrast", [](A, P i) { return Outputs{StretchContrast(i)}; }},
      {"transpose", [](A, P i) { return Outputs{Transpose(i)}; }},
      {"unsharp_mask", UnsharpMaskOp},
  };
  return ops;
}

}  // namespace

absl::StatusOr<std::vector<Pixels>> ComputeReference(const Reference& reference,
                                                     const Pixels& image) {
  const auto op = Ops().find(reference.op());
  if (op == Ops().end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no reference \"", reference.op(), "\""));
  }
  if (image.values.empty()) {
    return absl::InvalidArgumentError("the image is empty");
  }
  Arguments arguments(reference.op(),
                      {reference.params().begin(), reference.params().end()});
  std::vector<Pixels> outputs = op->second(arguments, image);
  RETURN_IF_ERROR(arguments.Finish());
  return outputs;
}

std::vector<std::string> ReferenceOps() {
  std::vector<std::string> names;
  for (const auto& op : Ops()) names.push_back(op.first);
  return names;
}

std::string ReferenceText(const Reference& reference) {
  std::string text = reference.op();
  for (const std::string& param : reference.params()) {
    absl::StrAppend(&text, " ", param);
  }
  return text;
}

using View = absl::string_view;

Arguments::Arguments(View op, const std::vector<std::string>& params)
    : op_(op) {
  for (const std::string& param : params) {
    const size_t equals = param.find('=');
    if (equals == std::string::npos) {
      Complain(absl::StrCat("\"", param, "\" is not NAME=VALUE"));
      continue;
    }
    values_[param.substr(0, equals)] = param.substr(equals + 1);
  }
}

double Arguments::Number(View name) {
  const std::string* text = Find(name);
  return text == nullptr ? 0 : ParseNumber(name, *text);
}

double Arguments::NumberOr(View name, double fallback) {
  return values_.count(std::string(name)) == 0 ? fallback : Number(name);
}

int Arguments::Integer(View name) {
  const double number = Number(name);
  if (number != std::floor(number) || std::abs(number) > 1e6) {
    Complain(absl::StrCat(name, " is not a whole number"));
    return 0;
  }
  return static_cast<int>(number);
}

std::vector<double> Arguments::Numbers(View name, size_t size) {
  std::vector<double> numbers(size);
  const std::string* text = Find(name);
  if (text == nullptr) return numbers;
  View inside = *text;
  if (!absl::ConsumePrefix(&inside, "(") ||
      !absl::ConsumeSuffix(&inside, ")")) {
    Complain(absl::StrCat(name, " is not of the form (a,b,...)"));
    return numbers;
  }
  const std::vector<View> parts = absl::StrSplit(inside, ',');
  if (parts.size() != size) {
    Complain(absl::StrCat(name, " has ", parts.size(), " numbers instead of ",
                          size));
    return numbers;
  }
  for (size_t i = 0; i < size; ++i) numbers[i] = ParseNumber(name, parts[i]);
  return numbers;
}

std::string Arguments::Word(View name, const std::vector<std::string>& known) {
  const std::string* text = Find(name);
  if (text == nullptr) return "";
  if (std::find(known.begin(), known.end(), *text) == known.end()) {
    Complain(absl::StrCat(name, " is \"", *text, "\" instead of one of ",
                          absl::StrJoin(known, ", ")));
  }
  return *text;
}

absl::Status Arguments::Finish() const {
  if (!status_.ok()) return status_;
  for (const auto& value : values_) {
    if (read_.count(value.first) == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "reference ", op_, " has no parameter \"", value.first, "\""));
    }
  }
  return absl::OkStatus();
}

void Arguments::Complain(View problem) {
  status_.Update(absl::InvalidArgumentError(
      absl::StrCat("reference ", op_, ": ", problem)));
}

const std::string* Arguments::Find(View name) {
  const auto found = values_.find(std::string(name));
  if (found == values_.end()) {
    Complain(absl::StrCat(name, " is missing"));
    return nullptr;
  }
  read_.insert(found->first);
  return &found->second;
}

double Arguments::ParseNumber(View name, View text) {
  double number = 0;
  if (!absl::SimpleAtod(text, &number) || !std::isfinite(number)) {
    Complain(absl::StrCat(name, " has \"", text, "\", which is not a number"));
    return 0;
  }
  return number;
}

}  // namespace feedrate
