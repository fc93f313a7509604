// From an entry of configs/transforms/ to something that can be called.
#ifndef FEEDRATE_LIB_ADAPTERS_TORCH_MAKE_OP_H_
#define FEEDRATE_LIB_ADAPTERS_TORCH_MAKE_OP_H_

#include "absl/status/statusor.h"
#include "lib/adapters/torch/op.h"
#include "lib/adapters/worker/adapter.h"

namespace feedrate {

// By the spec's native_op, params and wrap. InvalidArgument names what is not
// understood.
absl::StatusOr<TorchOp> MakeTorchOp(const TransformSpec& spec);

// The same for batches; null where images go one by one. REQUIRES: MakeTorchOp
// understands the spec.
TorchOp MakeTorchBatchOp(const TransformSpec& spec);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_TORCH_MAKE_OP_H_
