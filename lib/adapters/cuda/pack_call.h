// What a call tells the device: its images, where they go, their parameters.
#ifndef FEEDRATE_LIB_ADAPTERS_CUDA_PACK_CALL_H_
#define FEEDRATE_LIB_ADAPTERS_CUDA_PACK_CALL_H_

#include <cstdint>
#include <vector>

#include "lib/adapters/cuda/batch.h"
#include "lib/adapters/cuda/fused_op.h"
#include "lib/adapters/worker/params.h"

namespace feedrate {

// Part of every timed call, so it computes nothing that it knows already.
// Needs no GPU. Not thread-safe.
class CallPacker {
 public:
  struct Packed {
    int64_t bytes = 0;
    // Sides of the outputs at most.
    FusedSize largest;
  };

  // `op` outlives it.
  explicit CallPacker(const FusedOp* op) : op_(*op) {}

  void AddInput(const fused::ByteImage& image);
  // Outputs of a call lie `bytes` apart from `first` on.
  void SetOutputs(uint8_t* first, int64_t bytes);

  int64_t size() const { return static_cast<int64_t>(inputs_.size()); }
  FusedSize in_size(int64_t item) const { return in_sizes_[item]; }
  FusedSize out_size(int64_t item) const { return out_sizes_[item]; }
  // Of a block that has room for any call of so many images.
  int64_t BlockBytes(int64_t count) const;

  // Of items first … first+count-1, modulo `num_items`: all inputs, all
  // outputs, all parameters. REQUIRES: 0 <= first < num_items <= size(), and
  // `block` starts at a multiple of 8.
  Packed Pack(int64_t first, int64_t count, int64_t num_items, Random* random,
              uint8_t* block) const;

 private:
  const FusedOp& op_;
  std::vector<fused::ByteImage> inputs_;
  std::vector<FusedSize> in_sizes_;
  std::vector<FusedSize> out_sizes_;
  uint8_t* outputs_ = nullptr;
  int64_t output_bytes_ = 0;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_CUDA_PACK_CALL_H_
