#include "lib/adapters/cuda/pack_call.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace feedrate {

using fused::ByteImage;

void CallPacker::AddInput(const ByteImage& image) {
  const FusedSize size = {image.height, image.width};
  inputs_.push_back(image);
  in_sizes_.push_back(size);
  out_sizes_.push_back(op_.OutSize(size));
}

void CallPacker::SetOutputs(uint8_t* first, int64_t bytes) {
  outputs_ = first;
  output_bytes_ = bytes;
}

int64_t CallPacker::BlockBytes(int64_t count) const {
  return count * static_cast<int64_t>(2 * sizeof(ByteImage) + op_.param_bytes);
}

CallPacker::Packed CallPacker::Pack(int64_t first, int64_t count,
                                    int64_t num_items, Random* random,
                                    uint8_t* block) const {
  auto* const in = reinterpret_cast<ByteImage*>(block);
  ByteImage* const out = in + count;
  auto* const params = reinterpret_cast<uint8_t*>(out + count);
  Packed packed;
  packed.bytes = BlockBytes(count);
  uint8_t* at = outputs_;
  FusedSize drawn_for;
  FusedParams drawn;
  int64_t item = first;
  for (int64_t i = 0; i < count; ++i) {
    const FusedSize to = out_sizes_[item];
    in[i] = inputs_[item];
    out[i] = {at, to.height, to.width, int64_t{3} * to.width};
    at += output_bytes_;
    packed.largest.height = std::max(packed.largest.height, to.height);
    packed.largest.width = std::max(packed.largest.width, to.width);
    if (op_.draw != nullptr) {
      const FusedSize size = in_sizes_[item];
      if (!op_.fixed || size.height != drawn_for.height ||
          size.width != drawn_for.width) {
        op_.draw(size, random, &drawn);
        drawn_for = size;
      }
      std::memcpy(params + i * op_.param_bytes, &drawn, op_.param_bytes);
    }
    if (++item == num_items) item = 0;
  }
  return packed;
}

}  // namespace feedrate
