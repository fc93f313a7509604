// Memory that batches are written to, and where a device gets them from.
#ifndef FEEDRATE_LIB_LOADER_BATCH_MEMORY_H_
#define FEEDRATE_LIB_LOADER_BATCH_MEMORY_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"

namespace feedrate {

// One block, gone with the object.
class MemoryBlock {
 public:
  virtual ~MemoryBlock() = default;
  virtual float* data() const = 0;
};

// Where blocks come from: pinned memory where there is a GPU, else pages.
class BatchMemory {
 public:
  virtual ~BatchMemory() = default;
  // ResourceExhausted when there is not so much.
  virtual absl::StatusOr<std::unique_ptr<MemoryBlock>> Allocate(
      size_t bytes) = 0;
};

// Large pages where the kernel has them: a batch of 256 photographs is 154 MB,
// 37,000 small pages whose faults would cost as much as filling them. All are
// there when Allocate returns.
std::unique_ptr<BatchMemory> PageMemory();

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_BATCH_MEMORY_H_
