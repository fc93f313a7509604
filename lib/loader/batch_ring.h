// Batches being filled and batches to be delivered, in a few buffers.
#ifndef FEEDRATE_LIB_LOADER_BATCH_RING_H_
#define FEEDRATE_LIB_LOADER_BATCH_RING_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/loader/batch.h"
#include "lib/loader/batch_mix.h"
#include "lib/loader/sample_shape.h"

namespace feedrate {

struct BatchRingOptions {
  SampleShape shape;
  int batch_size = 0;
  // Samples in all, at positions 0 to count - 1.
  int64_t count = 0;
  MixOptions mix;
  // What mixing is drawn from.
  uint64_t seed = 0;
  int64_t epoch = 0;
};

// Batch b lies in buffer b modulo their number. Workers fill slots of any batch
// that has a buffer; who finishes the last slot makes it ready; the consumer
// takes ready batches in order and gives each back, which makes its buffer that
// of a later batch. Workers touch the mutex only to wait or to make ready.
class BatchRing {
 public:
  explicit BatchRing(const BatchRingOptions& options);

  int64_t batches() const { return batches_; }

  // Memory of the buffers, which outlives the ring. REQUIRES: before workers.
  void SetBuffers(const std::vector<float*>& buffers);

  // Workers: where the sample at `position` is to be written, after waiting for
  // its buffer. Null once the ring has ended.
  float* Slot(int64_t position, int64_t* waited_ns);
  // The sample is there, and is that of `item`. Mixes the pair when its
  // partner is there too; adds the time of that to `mix_ns`.
  void Done(int64_t position, int64_t item, int64_t* mix_ns);

  // Consumer: waits for the next batch; null after the last. It is the
  // consumer's until GiveBack or End.
  absl::StatusOr<const LoaderBatch*> Next();
  void GiveBack();
  // Of the batch that Next would give, if any: its positions.
  bool NextRange(int64_t* begin, int64_t* end) const;

  // Nobody waits any more; Next returns `status`, the first one given.
  void End(const absl::Status& status);
  // Whether End was called.
  bool ended() const { return ended_.load(std::memory_order_acquire); }

  // Mean share of buffers that were ready when the consumer asked.
  double MeanFill() const;

 private:
  struct Buffer {
    LoaderBatch batch;
    float* data = nullptr;
    std::atomic<int> left{0};
    std::unique_ptr<std::atomic<bool>[]> half_done;  // By pair, for mixing.
    bool ready = false;
  };

  void Prepare(int64_t batch);
  Buffer& BufferOf(int64_t batch) { return *buffers_[batch % buffers_.size()]; }

  const BatchRingOptions options_;
  const int64_t batches_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  // Batches below this have a buffer, or had one.
  std::atomic<int64_t> open_{0};
  std::atomic<bool> ended_{false};

  mutable std::mutex mutex_;
  std::condition_variable opened_;
  std::condition_variable ready_;
  absl::Status status_;
  int64_t next_ = 0;   // To be delivered.
  bool lent_ = false;  // Batch next_ - 1 is with the consumer.
  int64_t ready_count_ = 0;
  int64_t fill_sum_ = 0;
  int64_t asked_ = 0;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_BATCH_RING_H_
