#include "lib/loader/batch_ring.h"

#include <algorithm>

#include "lib/adapters/worker/timing_loop.h"
#include "lib/loader/item_order.h"

namespace feedrate {

BatchRing::BatchRing(const BatchRingOptions& options)
    : options_(options),
      batches_((options.count + options.batch_size - 1) / options.batch_size) {}

void BatchRing::SetBuffers(const std::vector<float*>& buffers) {
  for (float* data : buffers) {
    auto buffer = std::make_unique<Buffer>();
    buffer->data = data;
    buffer->half_done.reset(new std::atomic<bool>[options_.batch_size]);
    buffers_.push_back(std::move(buffer));
  }
  const int64_t open = std::min<int64_t>(buffers_.size(), batches_);
  for (int64_t batch = 0; batch < open; ++batch) Prepare(batch);
  open_.store(open, std::memory_order_release);
}

void BatchRing::Prepare(int64_t index) {
  Buffer& buffer = BufferOf(index);
  LoaderBatch& batch = buffer.batch;
  batch.index = index;
  batch.data = buffer.data;
  batch.shape = options_.shape;
  batch.size = static_cast<int>(std::min<int64_t>(
      options_.batch_size, options_.count - index * options_.batch_size));
  batch.items.resize(batch.size);
  batch.mix = DrawMix(options_.mix, options_.shape,
                      MixSeed(options_.seed, options_.epoch, index));
  for (int i = 0; i < batch.size; ++i) buffer.half_done[i] = false;
  buffer.left.store(batch.size, std::memory_order_relaxed);
  buffer.ready = false;
}

float* BatchRing::Slot(int64_t position, int64_t* waited_ns) {
  const int64_t batch = position / options_.batch_size;
  if (batch >= open_.load(std::memory_order_acquire)) {
    const int64_t begin = MonotonicNs();
    std::unique_lock<std::mutex> lock(mutex_);
    opened_.wait(lock, [&] {
      return ended() || batch < open_.load(std::memory_order_relaxed);
    });
    *waited_ns += MonotonicNs() - begin;
  }
  if (ended()) return nullptr;
  return BufferOf(batch).data +
         position % options_.batch_size * options_.shape.values();
}

void BatchRing::Done(int64_t position, int64_t item, int64_t* mix_ns) {
  Buffer& buffer = BufferOf(position / options_.batch_size);
  const int slot = static_cast<int>(position % options_.batch_size);
  buffer.batch.items[slot] = item;
  const int partner = MixPartner(slot, buffer.batch.size);
  if (buffer.batch.mix.kind != MixKind::kNone && partner != slot) {
    // Who comes second mixes, and sees what the first has written.
    const int pair = std::min(slot, partner);
    if (buffer.half_done[pair].exchange(true, std::memory_order_acq_rel)) {
      const int64_t begin = MonotonicNs();
      const int64_t values = options_.shape.values();
      MixPair(buffer.batch.mix, options_.shape, buffer.data + slot * values,
              buffer.data + partner * values);
      *mix_ns += MonotonicNs() - begin;
    }
  }
  if (buffer.left.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    buffer.ready = true;
    ++ready_count_;
  }
  ready_.notify_one();
}

absl::StatusOr<const LoaderBatch*> BatchRing::Next() {
  GiveBack();
  std::unique_lock<std::mutex> lock(mutex_);
  if (next_ == batches_ && status_.ok()) return nullptr;
  fill_sum_ += ready_count_;
  ++asked_;
  ready_.wait(lock, [this] { return ended() || BufferOf(next_).ready; });
  if (!status_.ok()) return status_;
  if (ended()) return nullptr;
  --ready_count_;
  lent_ = true;
  return &BufferOf(next_++).batch;
}

void BatchRing::GiveBack() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!lent_) return;
    lent_ = false;
    const int64_t next = open_.load(std::memory_order_relaxed);
    if (next == batches_) return;
    Prepare(next);
    open_.store(next + 1, std::memory_order_release);
  }
  opened_.notify_all();
}

bool BatchRing::NextRange(int64_t* begin, int64_t* end) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (next_ == batches_) return false;
  *begin = next_ * options_.batch_size;
  *end = std::min(options_.count, *begin + options_.batch_size);
  return true;
}

void BatchRing::End(const absl::Status& status) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (status_.ok()) status_ = status;
    ended_.store(true, std::memory_order_release);
  }
  opened_.notify_all();
  ready_.notify_all();
}

double BatchRing::MeanFill() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (asked_ == 0 || buffers_.empty()) return 0;
  return static_cast<double>(fill_sum_) / asked_ / buffers_.size();
}

}  // namespace feedrate
