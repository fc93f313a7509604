// Copy stage: from the batch in host memory to where the model computes.
#ifndef FEEDRATE_LIB_LOADER_DEVICE_COPY_H_
#define FEEDRATE_LIB_LOADER_DEVICE_COPY_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/loader/batch_memory.h"

namespace feedrate {

// Called by one thread of its own, so that a copy runs beside the consumer and
// the workers.
class DeviceCopy {
 public:
  virtual ~DeviceCopy() = default;

  // Buffers on the device: the loader never has more batches there.
  virtual int slots() const = 0;

  // Gets the memory of all buffers for copies of up to `bytes` bytes, so that
  // no copy has to. REQUIRES: no batch is on the device.
  virtual absl::Status Reserve(size_t bytes) = 0;

  // Copies `bytes` bytes to buffer `slot` and returns where they are; they are
  // there, and `host` may be overwritten, when it returns. A GPU does it on a
  // stream of its own. REQUIRES: nobody uses what was in the buffer any more.
  virtual absl::StatusOr<const float*> Copy(const float* host, size_t bytes,
                                            int slot) = 0;

  // Memory that it has on a device, which is the most that it had. 0: none.
  virtual int64_t device_bytes() const { return 0; }
};

// The device is the host: a copy within its memory, which is what a machine
// without an accelerator can measure.
class HostCopy : public DeviceCopy {
 public:
  HostCopy() : memory_(PageMemory()), blocks_(kSlots), sizes_(kSlots) {}

  int slots() const override { return kSlots; }
  absl::Status Reserve(size_t bytes) override {
    for (int slot = 0; slot < kSlots; ++slot) {
      const absl::Status taken = Grow(slot, bytes);
      if (!taken.ok()) return taken;
    }
    return absl::OkStatus();
  }
  absl::StatusOr<const float*> Copy(const float* host, size_t bytes,
                                    int slot) override {
    const absl::Status taken = Grow(slot, bytes);
    if (!taken.ok()) return taken;
    std::memcpy(blocks_[slot]->data(), host, bytes);
    return blocks_[slot]->data();
  }

 private:
  absl::Status Grow(int slot, size_t bytes) {
    if (sizes_[slot] >= bytes) return absl::OkStatus();
    auto block = memory_->Allocate(bytes);
    if (!block.ok()) return block.status();
    blocks_[slot] = *std::move(block);
    sizes_[slot] = bytes;
    return absl::OkStatus();
  }

  // One that the consumer has, one that is being filled.
  static constexpr int kSlots = 2;
  std::unique_ptr<BatchMemory> memory_;
  std::vector<std::unique_ptr<MemoryBlock>> blocks_;
  std::vector<size_t> sizes_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_DEVICE_COPY_H_
