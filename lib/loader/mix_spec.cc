#include "lib/loader/mix_spec.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/adapters/worker/params.h"
#include "lib/base/status_macros.h"

namespace feedrate {

absl::StatusOr<MixOptions> MixOptionsOf(const TransformSpec& spec) {
  MixOptions mix;
  if (spec.loader->batch_transform == "mixup") mix.kind = MixKind::kMixup;
  if (spec.loader->batch_transform == "cutmix") mix.kind = MixKind::kCutMix;
  if (!IsMixOp(spec.native_op)) return mix;
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
