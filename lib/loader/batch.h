// Batches: their layout, mixing, buffers and memory.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace feedrate {

// How values lie in memory: one plane per channel (CHW), or all channels of a
// pixel side by side (HWC). Floats are normalized, bytes are as decoded.
enum class SampleFormat {
  kFloatPlanes,
  kFloatPixels,
  kBytePlanes,
  kBytePixels
};

// Shape of one sample, without gaps.
struct SampleShape {
  int channels = 0;
  int height = 0;
  int width = 0;
  SampleFormat format = SampleFormat::kFloatPlanes;

  bool is_planes() const {
    return format == SampleFormat::kFloatPlanes ||
           format == SampleFormat::kBytePlanes;
  }
  bool is_float() const {
    return format == SampleFormat::kFloatPlanes ||
           format == SampleFormat::kFloatPixels;
  }
  int64_t values() const { return int64_t{channels} * height * width; }
  int64_t bytes() const {
    return values() * static_cast<int64_t>(is_float() ? sizeof(float) : 1);
  }
};

// Mixup and CutMix: mixing pairs of samples of a batch.

enum class MixKind { kNone, kMixup, kCutMix };

struct MixOptions {
  MixKind kind = MixKind::kNone;
  // Parameter of Beta(alpha, alpha), from which the share is drawn. REQUIRES: >
  // 0.
  double alpha = 1;
};

// InvalidArgument if samples of that format cannot be mixed so.
absl::Status CheckMix(const MixOptions& mix, SampleFormat format);

// How one batch is mixed. Sample i of n is mixed with sample n - 1 - i, in
// place, as soon as both are ready, by any thread.
struct MixPlan {
  MixKind kind = MixKind::kNone;
  // Weight of the sample's own label; the partner's label has the rest.
  double own_share = 1;
  // CutMix: the box that comes from the partner.
  int top = 0;
  int left = 0;
  int height = 0;
  int width = 0;
};

// Draws the plan of a batch. For CutMix the share follows from the box after
// clipping at the image border.
MixPlan DrawMix(const MixOptions& options, const SampleShape& shape,
                uint64_t seed);

// Partner of `sample` in a batch of `size`. The middle sample of an odd batch
// is its own partner.
inline int MixPartner(int sample, int size) { return size - 1 - sample; }

// Mixes both samples of a pair. REQUIRES: a != b; the shape is of floats.
void MixPair(const MixPlan& plan, const SampleShape& shape, float* a, float* b);

// A batch as delivered: `size` samples, contiguous.
struct LoaderBatch {
  int64_t index = 0;
  // Bytes rather than floats if the shape says so.
  const float* data = nullptr;
  int size = 0;
  SampleShape shape;
  // Item number of each sample, for looking up labels.
  std::vector<int64_t> items;
  MixPlan mix;

  int64_t bytes() const { return size * shape.bytes(); }
};

// The ring of batch buffers.

struct BatchRingOptions {
  SampleShape shape;
  int batch_size = 0;
  // Total number of samples, at positions 0 to count - 1.
  int64_t count = 0;
  // The last sample is a batch of its own, instead of the last of a full one.
  // REQUIRES: count is a multiple of batch_size, which is above 1.
  bool splits_last = false;
  MixOptions mix;
  // Seeds for mixing.
  uint64_t seed = 0;
  int64_t epoch = 0;
  // Batch b is mixed like batch first_mix + b * mix_step of another ring.
  int64_t first_mix = 0;
  int64_t mix_step = 1;
};

// Batches that are being filled or are ready to be delivered. Batch b uses
// buffer b modulo the number of buffers. Workers fill slots of any batch that
// has a buffer; the worker that fills the last slot marks the batch ready. The
// consumer takes ready batches in order and gives each back, which frees its
// buffer for a later batch. Workers lock the mutex only to wait or to mark a
// batch ready.
class BatchRing {
 public:
  explicit BatchRing(const BatchRingOptions& options);

  int64_t batches() const { return batches_; }

  // Sets the memory of the buffers, which must outlive the ring. REQUIRES: no
  // worker has started.
  void SetBuffers(const std::vector<float*>& buffers);

  // For workers: returns where to write the sample at `position`, after waiting
  // for its buffer. Null once the ring has ended.
  void* Slot(int64_t position, int64_t* waited_ns);
  // For workers: the memory of the sample's batch, and its place there.
  // REQUIRES: Slot has returned.
  void* Batch(int64_t position) const {
    return buffers_[BatchOf(position) % buffers_.size()]->data;
  }
  int PlaceOf(int64_t position) const {
    return static_cast<int>(position - BeginOf(BatchOf(position)));
  }
  // For workers: the sample is written and belongs to `item`. Mixes the pair if
  // the partner is also ready, and adds the time for that to `mix_ns`.
  void Done(int64_t position, int64_t item, int64_t* mix_ns);

  // For the consumer: waits for the next batch; null after the last. The batch
  // is valid until GiveBack or End.
  absl::StatusOr<const LoaderBatch*> Next();
  void GiveBack();
  // For the consumer: true if Next need not wait; waits for that at most
  // `seconds`. REQUIRES: the last batch was given back.
  bool WaitFor(double seconds);
  // For the consumer: puts `data` in the place of the memory of its batch,
  // which is the consumer's after GiveBack. REQUIRES: it has a batch.
  void ReplaceMemory(float* data);
  // Positions of the batch that Next would return, if there is one.
  bool NextRange(int64_t* begin, int64_t* end) const;

  // Ends all waits. Next then returns `status` (that of the first call).
  void End(const absl::Status& status);
  // True after End.
  bool ended() const { return ended_.load(std::memory_order_acquire); }

  // Mean share of buffers that were ready when the consumer asked.
  double MeanFill() const;

 private:
  struct Buffer {
    LoaderBatch batch;
    float* data = nullptr;
    std::atomic<int> left{0};
    std::unique_ptr<std::atomic<bool>[]> half_done;  // Per pair, for mixing.
    bool ready = false;
  };

  // Position of a batch's first sample; `count` beyond the last batch.
  int64_t BeginOf(int64_t batch) const {
    const int64_t begin = batch * options_.batch_size;
    const int64_t last = options_.count - (options_.splits_last ? 1 : 0);
    return batch < batches_ ? std::min(begin, last) : options_.count;
  }
  int64_t BatchOf(int64_t position) const {
    return options_.splits_last && position == options_.count - 1
               ? batches_ - 1
               : position / options_.batch_size;
  }
  void Prepare(int64_t batch);
  Buffer& BufferOf(int64_t batch) { return *buffers_[batch % buffers_.size()]; }

  const BatchRingOptions options_;
  const int64_t batches_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  // Batches below this number have or had a buffer.
  std::atomic<int64_t> open_{0};
  std::atomic<bool> ended_{false};

  mutable std::mutex mutex_;
  std::condition_variable opened_;
  std::condition_variable ready_;
  absl::Status status_;
  int64_t next_ = 0;   // The next batch to deliver.
  bool lent_ = false;  // The consumer has batch next_ - 1.
  int64_t ready_count_ = 0;
  int64_t fill_sum_ = 0;
  int64_t asked_ = 0;
};

// Memory for batches.

class BatchMemory;

// A block of memory, freed with the object.
class MemoryBlock {
 public:
  virtual ~MemoryBlock() = default;
  virtual float* data() const = 0;

  // For memory of a device, which works after its callers have returned. The
  // block is busy until what `stream` has to do now is done. Thread-safe.
  virtual void UsedBy(void* stream) {}
  virtual bool busy() const { return false; }
  virtual void WaitUntilIdle() {}
};

// Allocates blocks: pinned memory for a GPU, ordinary pages otherwise.
class BatchMemory {
 public:
  virtual ~BatchMemory() = default;
  // ResourceExhausted if there is not enough memory.
  virtual absl::StatusOr<std::unique_ptr<MemoryBlock>> Allocate(
      size_t bytes) = 0;
  // True for memory of somebody else, who alone knows when a batch that its
  // consumer has dropped is no longer read, such as by copies in a queue. The
  // loader then never uses the block of a delivered batch again. All blocks
  // have the size of a full batch.
  virtual bool is_foreign() const { return false; }
};

// Ordinary pages, large ones where the kernel has them: a batch of 256 images
// is 154 MB, and faulting in its 37,000 small pages would take as long as
// filling them. All pages are resident when Allocate returns.
std::unique_ptr<BatchMemory> PageMemory();

// Blocks of one size that consumers keep for as long as they like, and that are
// used again after that. Thread-safe.
class BlockPool {
 public:
  // Keeps at most `most_free` blocks that nobody uses.
  explicit BlockPool(size_t most_free) : most_free_(most_free) {}

  // A block of `bytes`, not busy: one that was given back, or a new one of
  // `memory`. Waits if the pool is full of busy ones.
  absl::StatusOr<std::unique_ptr<MemoryBlock>> Take(size_t bytes,
                                                    BatchMemory* memory);
  void GiveBack(std::unique_ptr<MemoryBlock> block, size_t bytes);

 private:
  const size_t most_free_;
  std::mutex mutex_;
  size_t bytes_ = 0;  // Size of each free block.
  std::vector<std::unique_ptr<MemoryBlock>> free_;
};

// A batch that its consumer keeps. Its memory goes back to the pool with it,
// from any thread, also after the loader is gone.
struct KeptBatch {
  KeptBatch(LoaderBatch batch, std::unique_ptr<MemoryBlock> block, size_t bytes,
            std::shared_ptr<BlockPool> pool)
      : batch(std::move(batch)),
        block(std::move(block)),
        block_bytes(bytes),
        pool(std::move(pool)) {}
  ~KeptBatch() { pool->GiveBack(std::move(block), block_bytes); }
  KeptBatch(const KeptBatch&) = delete;
  KeptBatch& operator=(const KeptBatch&) = delete;

  const LoaderBatch batch;
  std::unique_ptr<MemoryBlock> block;
  const size_t block_bytes;
  const std::shared_ptr<BlockPool> pool;
};

// Copy stage: moves batches from host memory to the device. Called by one
// thread of its own, so that copies overlap with the consumer and the workers.
class DeviceCopy {
 public:
  virtual ~DeviceCopy() = default;

  // Number of buffers on the device. The loader never has more batches there.
  virtual int slots() const = 0;

  // Allocates all buffers for copies of up to `bytes` bytes, so that no copy
  // has to. REQUIRES: no batch is on the device.
  virtual absl::Status Reserve(size_t bytes) = 0;

  // Copies `bytes` bytes to buffer `slot` and returns their address on the
  // device. When it returns the copy is complete and `host` may be overwritten.
  // A GPU uses a stream of its own. REQUIRES: the previous content of the
  // buffer is no longer in use.
  virtual absl::StatusOr<const float*> Copy(const float* host, size_t bytes,
                                            int slot) = 0;

  // Peak memory on the device; 0 if none is used.
  virtual int64_t device_bytes() const { return 0; }
};

// Copies within host memory: what a machine without an accelerator can measure.
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

  // One buffer for the consumer, one being filled.
  static constexpr int kSlots = 2;
  std::unique_ptr<BatchMemory> memory_;
  std::vector<std::unique_ptr<MemoryBlock>> blocks_;
  std::vector<size_t> sizes_;
};

}  // namespace feedrate
