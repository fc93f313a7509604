#include "lib/adapters/opencv/make_op.h"

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/adapters/opencv/channels.h"
#include "lib/adapters/opencv/chunks.h"
#include "lib/adapters/opencv/colour.h"
#include "lib/adapters/opencv/crop.h"
#include "lib/adapters/opencv/distort.h"
#include "lib/adapters/opencv/filter.h"
#include "lib/adapters/opencv/jitter.h"
#include "lib/adapters/opencv/light.h"
#include "lib/adapters/opencv/noise.h"
#include "lib/adapters/opencv/rearrange.h"
#include "lib/adapters/opencv/tone.h"
#include "lib/adapters/opencv/warp.h"

namespace feedrate {
namespace {

const OpEntry* FindEntry(absl::string_view native_op) {
  for (const OpTable* table :
       {&ChannelOps(), &ColourOps(), &CropOps(), &DistortOps(), &FilterOps(),
        &JitterOps(), &LightOps(), &NoiseOps(), &RearrangeOps(), &ToneOps(),
        &WarpOps()}) {
    for (const OpEntry& entry : *table) {
      if (entry.native_op == native_op) return &entry;
    }
  }
  return nullptr;
}

}  // namespace

absl::StatusOr<Op> MakeOp(const TransformSpec& spec) {
  const OpEntry* entry = FindEntry(spec.native_op);
  if (entry == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(spec.transform, ": the opencv adapter has no operation ",
                     spec.native_op));
  }
  Params params(spec.params);
  Op op = entry->make(&params);
  const absl::Status status = params.Finish();
  if (!status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        spec.transform, ": ", spec.native_op, ": ", status.message()));
  }
  if (spec.wrap.empty()) return op;
  if (spec.wrap == kPerChunk) return PerChunk(std::move(op));
  return absl::InvalidArgumentError(
      absl::StrCat(spec.transform, ": the opencv adapter knows no wrap \"",
                   spec.wrap, "\""));
}

}  // namespace feedrate
