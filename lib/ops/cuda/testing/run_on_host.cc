#include "lib/ops/cuda/testing/run_on_host.h"

#include <algorithm>

#include "lib/ops/params.h"

namespace feedrate {

using fused::HostImage;

HostImage HostImageOf(const ItemView& item) {
  HostImage image(static_cast<int>(item.height), static_cast<int>(item.width));
  const auto* bytes = static_cast<const uint8_t*>(item.data);
  std::copy(bytes, bytes + item.bytes, image.values.begin());
  return image;
}

HostImage RunOnHost(const FusedOp& op, const HostImage& image, uint64_t seed) {
  Random random(seed);
  FusedParams params;
  const FusedSize in = {image.height, image.width};
  if (op.draw != nullptr) op.draw(in, &random, &params);
  const FusedSize out = op.OutSize(in);
  switch (op.kernel) {
    case FusedOp::Kernel::kWarp:
      return Rounded(
          HostWarp(image, params.projection, op.edge, out.height, out.width));
    case FusedOp::Kernel::kJitter:
      return Rounded(HostJitter(image, params.jitter));
    case FusedOp::Kernel::kBlur:
      return Rounded(HostBlur(image, params.amount, op.radius));
    case FusedOp::Kernel::kTone:
      return HostTone(image, op.tone, params.amount);
    case FusedOp::Kernel::kEqualize:
      return HostEqualize(image);
  }
  return {};
}

std::string BytesOfImage(const HostImage& image) {
  std::string bytes;
  for (const float value : image.values) {
    bytes.push_back(static_cast<char>(static_cast<uint8_t>(value)));
  }
  return bytes;
}

TransformSpec CudaSpecOf(const Transform& transform,
                         const Implementation& entry) {
  TransformSpec spec;
  spec.transform = transform.name();
  spec.native_op = entry.native_op();
  spec.params.assign(entry.params().begin(), entry.params().end());
  spec.wrap = entry.wrap();
  return spec;
}

}  // namespace feedrate
