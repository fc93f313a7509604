#include "lib/loader/recipe.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "lib/base/status_macros.h"
#include "lib/ops/params.h"

namespace feedrate {
namespace {

absl::Status BadStep(absl::string_view text, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("step \"", text, "\": ", what));
}

// Parses `OP{a=b;c=d}` or `OP`.
absl::StatusOr<TransformSpec> ParseAlternative(const TransformSpec& recipe,
                                               absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  TransformSpec spec;
  spec.transform = recipe.transform;
  const size_t brace = text.find('{');
  spec.native_op = std::string(text.substr(0, brace));
  if (spec.native_op.empty()) return BadStep(text, "names no operation");
  if (brace == text.npos) return spec;
  absl::string_view params = text.substr(brace + 1);
  if (!absl::ConsumeSuffix(&params, "}")) {
    return BadStep(text, "has no closing brace");
  }
  spec.params = absl::StrSplit(params, ';', absl::SkipWhitespace());
  return spec;
}

absl::StatusOr<RecipeStep> ParseStep(const TransformSpec& recipe,
                                     absl::string_view text) {
  const absl::string_view whole = text;
  const size_t equals = text.find('=');
  if (!absl::StartsWith(text, "step") || equals == text.npos) {
    return BadStep(whole, "does not begin with step1=, step2= and so on");
  }
  text.remove_prefix(equals + 1);
  RecipeStep step;
  const size_t space = text.find(' ');
  // SimpleAtod writes to its result even if there is no number.
  double probability = 1;
  if (space != text.npos &&
      absl::SimpleAtod(text.substr(0, space), &probability)) {
    step.probability = probability;
    text.remove_prefix(space + 1);
  }
  if (!(step.probability >= 0 && step.probability <= 1)) {
    return BadStep(whole, "has a probability that is not in 0..1");
  }
  for (absl::string_view alternative : absl::StrSplit(text, '|')) {
    ASSIGN_OR_RETURN(TransformSpec spec, ParseAlternative(recipe, alternative));
    step.one_of.push_back(std::move(spec));
  }
  return step;
}

}  // namespace

absl::StatusOr<std::vector<RecipeStep>> StepsOf(const TransformSpec& spec) {
  std::vector<RecipeStep> steps;
  if (spec.native_op.empty()) return steps;
  if (spec.native_op != kStepsOp) {
    steps.push_back({{spec}, 1});
    return steps;
  }
  for (const std::string& text : spec.params) {
    ASSIGN_OR_RETURN(RecipeStep step, ParseStep(spec, text));
    steps.push_back(std::move(step));
  }
  return steps;
}

absl::StatusOr<MixOptions> MixOptionsOf(const TransformSpec& spec) {
  MixOptions mix;
  if (!IsMixOp(spec.native_op)) return mix;
  mix.kind = spec.native_op == kMixupOp ? MixKind::kMixup : MixKind::kCutMix;
  Params params(spec.params);
  mix.alpha = params.NumberOr("alpha", 1);
  RETURN_IF_ERROR(params.Finish());
  if (!(mix.alpha > 0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        spec.transform, ": alpha ", mix.alpha,
        " is not possible; mixing draws from Beta(alpha, alpha), alpha above "
        "0"));
  }
  return mix;
}

}  // namespace feedrate
