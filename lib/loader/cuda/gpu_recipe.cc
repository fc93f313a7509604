#include "lib/loader/cuda/gpu_recipe.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"

namespace feedrate {
namespace {

// Threshold of the kernel's solarize.
constexpr float kSolarizeFrom = 128;

int Rounded(double value) { return static_cast<int>(std::lround(value)); }

// Start of a crop of `size` along a side; negative if the crop is larger.
int Start(int side, int size, bool center, Random* random) {
  const int free = side - size;
  // Always draws, like the CPU loader.
  const int64_t drawn = center ? 0 : random->Below(std::max(free, 0) + 1);
  if (free < 0) return -(-free / 2);
  return center ? free / 2 : static_cast<int>(drawn);
}

absl::Status NoPart(const TransformSpec& spec, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat(spec.transform, ": ", spec.native_op, " ", why));
}

// Parameters of a transform without randomness.
FusedParams FixedParams(const FusedOp& op) {
  Random unused;
  FusedParams params;
  if (op.draw != nullptr) op.draw({2, 2}, &unused, &params);
  return params;
}

bool IsMirror(const TransformSpec& spec, const FusedOp& op) {
  return spec.native_op == "flip" && FixedParams(op).projection.h[0] == -1;
}

bool IsGrayscale(const FusedOp& op) {
  const fused::Jitter jitter = FixedParams(op).jitter;
  return jitter.steps == fused::kSaturation && jitter.saturation == 0;
}

bool IsSolarize(const FusedOp& op) {
  return op.kernel == FusedOp::Kernel::kTone &&
         op.tone == fused::Tone::kSolarize &&
         FixedParams(op).amount == kSolarizeFrom;
}

}  // namespace

Random ItemRandom(uint64_t seed, int64_t item, int64_t epoch) {
  Random random(ItemSeed(seed, epoch, item));
  // On the CPU the first draw seeds OpenCV's own generator.
  random.Next();
  return random;
}

fused::Mix MixOfPlan(const MixPlan& plan, int partner) {
  fused::Mix mix;
  if (partner < 0 || plan.kind == MixKind::kNone) return mix;
  mix.partner = partner;
  if (plan.kind == MixKind::kMixup) {
    mix.own = static_cast<float>(plan.own_share);
  } else {
    mix.box = {plan.top, plan.left, plan.height, plan.width};
  }
  return mix;
}

absl::StatusOr<GpuRecipe::Part> GpuRecipe::PartOf(const TransformSpec& spec,
                                                  bool is_choice) {
  Part part;
  ASSIGN_OR_RETURN(part.op, MakeFusedOp(spec));
  switch (part.op.kernel) {
    case FusedOp::Kernel::kJitter:
      part.kind = Kind::kJitter;
      // In a choice it is one of three; alone, a jitter is cheaper.
      if (is_choice && IsGrayscale(part.op)) {
        part.kind = Kind::kThird;
        part.third = fused::Third::kGrayscale;
      }
      return part;
    case FusedOp::Kernel::kTone:
      if (!IsSolarize(part.op)) break;
      part.kind = Kind::kThird;
      part.third = fused::Third::kSolarize;
      return part;
    case FusedOp::Kernel::kBlur:
      part.kind = Kind::kThird;
      part.third = fused::Third::kBlur;
      return part;
    case FusedOp::Kernel::kWarp:
      if (!IsMirror(spec, part.op)) break;
      part.kind = Kind::kFlip;
      return part;
    case FusedOp::Kernel::kEqualize:
      break;
  }
  return NoPart(spec, "is not part of the recipe that cuda runs in one launch");
}

absl::Status GpuRecipe::SetWindow(const TransformSpec& spec) {
  const bool resizes = spec.native_op == "resized_crop";
  if (!resizes && spec.native_op != "crop") {
    return NoPart(spec, "is not a crop that cuda runs in one launch");
  }
  ASSIGN_OR_RETURN(window_, MakeFusedOp(spec));
  if (resizes) batch_.sampling = fused::Sampling::kBilinear;
  return absl::OkStatus();
}

// A launch flips, does one of three, then jitters. The position of the flip
// does not matter: no other step depends on left and right.
absl::Status GpuRecipe::AddSteps(const Recipe& recipe) {
  bool third = false;
  bool jitter = false;
  for (size_t i = 0; i < recipe.steps.size(); ++i) {
    const RecipeStep& given = recipe.steps[i];
    if (i == 0 && recipe.first_step_crops) {
      RETURN_IF_ERROR(SetWindow(given.one_of[0]));
      continue;
    }
    Step& step = steps_.emplace_back();
    step.probability = given.probability;
    bool third_here = false;
    bool jitter_here = false;
    for (const TransformSpec& one : given.one_of) {
      ASSIGN_OR_RETURN(Part part, PartOf(one, given.one_of.size() > 1));
      third_here |= part.kind == Kind::kThird;
      jitter_here |= part.kind == Kind::kJitter;
      step.one_of.push_back(std::move(part));
    }
    if ((third_here && (third || jitter)) || (jitter_here && jitter)) {
      return NoPart(given.one_of[0],
                    "comes behind steps after which one launch of cuda does "
                    "not do it: at most one of grayscale, solarize and blur, "
                    "then one jitter");
    }
    third |= third_here;
    jitter |= jitter_here;
  }
  return absl::OkStatus();
}

absl::StatusOr<GpuRecipe> GpuRecipe::Create(const Recipe& given,
                                            const MixOptions& mix) {
  if (given.channels != 3 || given.mean.empty() ||
      given.mean.size() != given.std.size()) {
    return absl::InvalidArgumentError(
        "the loader of cuda makes batches of three channels, with as many mean "
        "as std");
  }
  if (given.first_step_crops &&
      (given.steps.empty() || given.steps[0].one_of.size() != 1 ||
       given.steps[0].probability < 1)) {
    return absl::InvalidArgumentError("the recipe does not begin with a crop");
  }
  GpuRecipe recipe;
  recipe.mix_ = mix;
  RETURN_IF_ERROR(recipe.AddSteps(given));
  recipe.center_ = given.position == CropPosition::kCenter;
  fused::RecipeBatch& batch = recipe.batch_;
  batch.height = given.crop;
  batch.width = given.width();
  if (given.resize > 0 && !given.first_step_crops) {
    recipe.resize_ = given.resize;
    batch.sampling = fused::Sampling::kAntialias;
  }
  recipe.format_ = given.format;
  const bool to_bytes = !recipe.shape().is_float();
  if (to_bytes) batch.element = fused::Element::kUint8;
  batch.pixels = !recipe.shape().is_planes();
  batch.mixes = recipe.mix_.kind != MixKind::kNone;
  for (const Step& step : recipe.steps_) {
    for (const Part& part : step.one_of) {
      batch.colors |= part.kind == Kind::kJitter;
      batch.thirds |= part.kind == Kind::kThird;
    }
  }
  for (int c = 0; c < 3; ++c) {
    // The kernel's values are bytes divided by 255.
    const double scale = 255 / given.input_scale;
    const double mean = given.mean[c % given.mean.size()];
    const double std = given.std[c % given.std.size()];
    batch.mean[c] = static_cast<float>(mean / scale);
    batch.std[c] = static_cast<float>(std / scale);
    if (!to_bytes) continue;
    batch.mean[c] = 0;
    batch.std[c] = 1.0f / 255;
  }
  return recipe;
}

MixPlan GpuRecipe::DrawPlan(uint64_t seed, int64_t batch, int64_t epoch) const {
  return DrawMix(mix_, shape(), MixSeed(seed, epoch, batch));
}

fused::Window GpuRecipe::DrawWindow(FusedSize image, Random* random) const {
  fused::Window window;
  window.height = batch_.height;
  window.width = batch_.width;
  if (resize_ > 0) {
    const double scale =
        static_cast<double>(std::min(image.height, image.width)) / resize_;
    window.height = std::clamp(Rounded(batch_.height * scale), 1, image.height);
    window.width = std::clamp(Rounded(batch_.width * scale), 1, image.width);
    window.top = Start(image.height, window.height, center_, random);
    window.left = Start(image.width, window.width, center_, random);
    return window;
  }
  if (window_.draw == nullptr) {
    window.top = Start(image.height, batch_.height, center_, random);
    window.left = Start(image.width, batch_.width, center_, random);
    return window;
  }
  FusedParams params;
  window_.draw(image, random, &params);
  const float* h = params.projection.h;
  if (batch_.sampling == fused::Sampling::kCrop) {
    window.top = Rounded(h[5]);
    window.left = Rounded(h[2]);
    return window;
  }
  // Distances between output pixels, and half a distance to the first.
  window.height = Rounded(h[4] * batch_.height);
  window.width = Rounded(h[0] * batch_.width);
  window.top = Rounded(h[5] - 0.5 * h[4] + 0.5);
  window.left = Rounded(h[2] - 0.5 * h[0] + 0.5);
  return window;
}

void GpuRecipe::Apply(const Part& part, FusedSize image, Random* random,
                      fused::Recipe* recipe) {
  FusedParams params;
  if (part.op.draw != nullptr) part.op.draw(image, random, &params);
  switch (part.kind) {
    case Kind::kFlip:
      recipe->flip ^= 1;
      return;
    case Kind::kJitter:
      recipe->jitter = params.jitter;
      return;
    case Kind::kThird:
      recipe->third = part.third;
      if (part.third == fused::Third::kBlur) {
        recipe->sigma = params.amount;
        recipe->radius = part.op.radius;
      }
      return;
  }
}

fused::Recipe GpuRecipe::Draw(FusedSize image, Random* random) const {
  fused::Recipe recipe;
  recipe.window = DrawWindow(image, random);
  for (const Step& step : steps_) {
    if (step.probability < 1 && random->Unit() >= step.probability) continue;
    const size_t choice =
        step.one_of.size() == 1 ? 0 : random->Below(step.one_of.size());
    Apply(step.one_of[choice], image, random, &recipe);
  }
  return recipe;
}

namespace {

constexpr FusedSize kUsual = {375, 500};
constexpr uint64_t kEngine = uint64_t{1} << 62;
constexpr uint64_t kSide = (uint64_t{1} << 31) - 1;

}  // namespace

DecodeCost::DecodeCost(const Source& source, const GpuRecipe& recipe)
    : source_(source), recipe_(recipe), known_(source.size()) {}

bool DecodeCost::Knows(int64_t item) const {
  return known_[item].load(std::memory_order_relaxed) != 0;
}

void DecodeCost::Learn(int64_t item, FusedSize size, bool engine_decodes) {
  known_[item].store(static_cast<uint64_t>(size.height) << 31 |
                         static_cast<uint64_t>(size.width) |
                         (engine_decodes ? kEngine : 0),
                     std::memory_order_relaxed);
}

DecodeCost::Known DecodeCost::KnownOf(int64_t item) const {
  const uint64_t word = known_[item].load(std::memory_order_relaxed);
  if (word == 0) return {kUsual, true};
  return {
      {static_cast<int>(word >> 31 & kSide), static_cast<int>(word & kSide)},
      (word & kEngine) != 0};
}

double DecodeCost::Of(int64_t item, uint64_t seed, int64_t epoch) const {
  const Known known = KnownOf(item);
  if (!known.engine_decodes) return 0;
  const auto [height, width] = known.size;
  Random random = ItemRandom(seed, item, epoch);
  const fused::Window window = recipe_.Draw(known.size, &random).window;
  const int bottom = std::min(window.top + window.height, height);
  const int rows = bottom - std::max(window.top, 0);
  const int columns =
      std::min(window.left + window.width, width) - std::max(window.left, 0);
  // The CPU decodes the codes down to the window's last row and the pixels of
  // the window: a byte of the file and a pixel take about the same time. An
  // engine decodes all pixels.
  const double bytes =
      static_cast<double>(source_.Place(item).bytes) * bottom / height;
  return (bytes + static_cast<double>(rows) * columns) /
         (static_cast<double>(height) * width);
}

}  // namespace feedrate
