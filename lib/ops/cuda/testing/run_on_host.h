// Runs an entry of configs/transforms/ with the kernels' arithmetic, without a
// GPU.
#pragma once

#include <cstdint>
#include <string>

#include "lib/config/transforms.pb.h"
#include "lib/media/corpus.h"
#include "lib/ops/cuda/fused_op.h"
#include "lib/ops/cuda/kernels/host_kernels.h"

namespace feedrate {

// REQUIRES: uint8 HWC with three channels.
fused::HostImage HostImageOf(const ItemView& item);

// Integer values 0..255.
fused::HostImage RunOnHost(const FusedOp& op, const fused::HostImage& image,
                           uint64_t seed);

std::string BytesOfImage(const fused::HostImage& image);

TransformSpec CudaSpecOf(const Transform& transform,
                         const Implementation& entry);

}  // namespace feedrate
