#include "lib/adapters/torch/make_op.h"

#include <ATen/ops/cat.h>

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/adapters/torch/colour.h"
#include "lib/adapters/torch/crop.h"
#include "lib/adapters/torch/filter.h"
#include "lib/adapters/torch/light.h"
#include "lib/adapters/torch/noise.h"
#include "lib/adapters/torch/rearrange.h"
#include "lib/adapters/torch/tone.h"
#include "lib/adapters/torch/warp.h"

namespace feedrate {
namespace {

const TorchOpEntry* FindEntry(absl::string_view native_op) {
  for (const TorchOpTable* table :
       {&TorchColourOps(), &TorchCropOps(), &TorchFilterOps(), &TorchLightOps(),
        &TorchNoiseOps(), &TorchRearrangeOps(), &TorchToneOps(),
        &TorchWarpOps()}) {
    for (const TorchOpEntry& entry : *table) {
      if (entry.native_op == native_op) return &entry;
    }
  }
  return nullptr;
}

// For what is defined on colour, on images of more channels.
constexpr absl::string_view kPerChunk = "per 3-channel chunk, concat";

TorchOp PerChunk(TorchOp op) {
  return [op = std::move(op)](const at::Tensor& in, Random* random) {
    std::vector<at::Tensor> chunks;
    for (int64_t first = 0; first < ChannelsOf(in); first += 3) {
      chunks.push_back(op(in.slice(-3, first, first + 3), random));
    }
    return at::cat(chunks, -3);
  };
}

}  // namespace

absl::StatusOr<TorchOp> MakeTorchOp(const TransformSpec& spec) {
  const TorchOpEntry* entry = FindEntry(spec.native_op);
  if (entry == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(spec.transform, ": the torch adapter has no operation ",
                     spec.native_op));
  }
  Params params(spec.params);
  TorchOp op = entry->make(&params);
  const absl::Status status = params.Finish();
  if (!status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        spec.transform, ": ", spec.native_op, ": ", status.message()));
  }
  if (spec.wrap.empty()) return op;
  if (spec.wrap == kPerChunk) return PerChunk(std::move(op));
  return absl::InvalidArgumentError(absl::StrCat(
      spec.transform, ": the torch adapter knows no wrap \"", spec.wrap, "\""));
}

TorchOp MakeTorchBatchOp(const TransformSpec& spec) {
  const TorchOpEntry* entry = FindEntry(spec.native_op);
  if (entry == nullptr || entry->make_batch == nullptr) return nullptr;
  Params params(spec.params);
  TorchOp op = entry->make_batch(&params);
  // Chunks would draw for all images in turns, and not each image for itself.
  return spec.wrap.empty() ? op : nullptr;
}

}  // namespace feedrate
