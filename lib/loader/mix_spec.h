// How batches are to be mixed, in the words of configs/transforms/.
#ifndef FEEDRATE_LIB_LOADER_MIX_SPEC_H_
#define FEEDRATE_LIB_LOADER_MIX_SPEC_H_

#include <string>

#include "absl/status/statusor.h"
#include "lib/adapters/worker/adapter.h"
#include "lib/loader/batch_mix.h"

namespace feedrate {

// Native operations of a recipe whose only transform is at the batch stage.
// `alpha=` among their params is that of Beta(alpha, alpha), 1 if left out.
inline constexpr char kMixupOp[] = "feedrate::mixup";
inline constexpr char kCutMixOp[] = "feedrate::cutmix";

inline bool IsMixOp(const std::string& native_op) {
  return native_op == kMixupOp || native_op == kCutMixOp;
}

// What the loader's `batch_transform` and the params of a mixing operation say.
// InvalidArgument names what is not understood. REQUIRES: spec.loader.
absl::StatusOr<MixOptions> MixOptionsOf(const TransformSpec& spec);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_MIX_SPEC_H_
