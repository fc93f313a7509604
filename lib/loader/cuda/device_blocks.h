// Memory for batches on a device, whose consumers go on working with it after
// they have given it back.
#pragma once

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "lib/loader/batch.h"

namespace feedrate {

// Allocates on the device that is the current one of who makes it. Its blocks
// know when the streams that use them (MemoryBlock::UsedBy) are done.
class DeviceBlocks : public BatchMemory {
 public:
  DeviceBlocks();
  absl::StatusOr<std::unique_ptr<MemoryBlock>> Allocate(size_t bytes) override;

 private:
  int device_ = 0;
};

}  // namespace feedrate
