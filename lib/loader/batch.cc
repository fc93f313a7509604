#include "lib/loader/batch.h"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "lib/base/stopwatch.h"
#include "lib/ops/epoch_order.h"
#include "lib/ops/params.h"

namespace feedrate {
namespace {

// Jöhnk's method, for alpha up to 1, which is the usual range. Cheng's would be
// faster above, but there is only one draw per batch.
double DrawBeta(double alpha, Random* random) {
  for (;;) {
    const double u = std::pow(random->Unit(), 1 / alpha);
    const double v = std::pow(random->Unit(), 1 / alpha);
    if (u + v > 0 && u + v <= 1) return u / (u + v);
  }
}

void MixUp(float own, const SampleShape& shape, float* a, float* b) {
  const float other = 1 - own;
  const int64_t values = shape.values();
  for (int64_t i = 0; i < values; ++i) {
    const float x = a[i], y = b[i];
    a[i] = own * x + other * y;
    b[i] = own * y + other * x;
  }
}

void SwapBox(const MixPlan& plan, const SampleShape& shape, float* a,
             float* b) {
  if (!shape.is_planes()) {
    for (int y = plan.top; y < plan.top + plan.height; ++y) {
      const int64_t begin =
          (int64_t{y} * shape.width + plan.left) * shape.channels;
      std::swap_ranges(a + begin, a + begin + plan.width * shape.channels,
                       b + begin);
    }
    return;
  }
  for (int c = 0; c < shape.channels; ++c) {
    for (int y = plan.top; y < plan.top + plan.height; ++y) {
      const int64_t begin =
          (int64_t{c} * shape.height + y) * shape.width + plan.left;
      std::swap_ranges(a + begin, a + begin + plan.width, b + begin);
    }
  }
}

// One side of the box around `center`, clipped at the border.
void Cut(int center, int length, int size, int* begin, int* cut) {
  const int first = std::clamp(center - length / 2, 0, size);
  const int last = std::clamp(center + length / 2, 0, size);
  *begin = first;
  *cut = last - first;
}

}  // namespace

absl::Status CheckMix(const MixOptions& mix, SampleFormat format) {
  if (!(mix.alpha > 0)) {
    return absl::InvalidArgumentError("mixing needs alpha above 0");
  }
  if (mix.kind != MixKind::kNone && !SampleShape{0, 0, 0, format}.is_float()) {
    return absl::InvalidArgumentError(
        "mixing needs float32; ask for that, or leave mixing out");
  }
  return absl::OkStatus();
}

MixPlan DrawMix(const MixOptions& options, const SampleShape& shape,
                uint64_t seed) {
  MixPlan plan;
  plan.kind = options.kind;
  if (options.kind == MixKind::kNone) return plan;
  Random random(seed);
  plan.own_share = DrawBeta(options.alpha, &random);
  if (options.kind == MixKind::kMixup) return plan;
  const double side = std::sqrt(1 - plan.own_share);
  const int y = static_cast<int>(random.Below(shape.height));
  const int x = static_cast<int>(random.Below(shape.width));
  Cut(y, static_cast<int>(shape.height * side), shape.height, &plan.top,
      &plan.height);
  Cut(x, static_cast<int>(shape.width * side), shape.width, &plan.left,
      &plan.width);
  plan.own_share = 1 - static_cast<double>(plan.height) * plan.width /
                           (static_cast<double>(shape.height) * shape.width);
  return plan;
}

void MixPair(const MixPlan& plan, const SampleShape& shape, float* a,
             float* b) {
  switch (plan.kind) {
    case MixKind::kNone:
      return;
    case MixKind::kMixup:
      MixUp(static_cast<float>(plan.own_share), shape, a, b);
      return;
    case MixKind::kCutMix:
      SwapBox(plan, shape, a, b);
      return;
  }
}

BatchRing::BatchRing(const BatchRingOptions& options)
    : options_(options),
      batches_((options.count + options.batch_size - 1) / options.batch_size +
               (options.splits_last ? 1 : 0)) {}

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
  batch.size = static_cast<int>(BeginOf(index + 1) - BeginOf(index));
  batch.items.resize(batch.size);
  batch.mix = DrawMix(options_.mix, options_.shape,
                      MixSeed(options_.seed, options_.epoch,
                              options_.first_mix + index * options_.mix_step));
  for (int i = 0; i < batch.size; ++i) buffer.half_done[i] = false;
  buffer.left.store(batch.size, std::memory_order_relaxed);
  buffer.ready = false;
}

void* BatchRing::Slot(int64_t position, int64_t* waited_ns) {
  const int64_t batch = BatchOf(position);
  if (batch >= open_.load(std::memory_order_acquire)) {
    const int64_t begin = MonotonicNs();
    std::unique_lock<std::mutex> lock(mutex_);
    opened_.wait(lock, [&] {
      return ended() || batch < open_.load(std::memory_order_relaxed);
    });
    *waited_ns += MonotonicNs() - begin;
  }
  if (ended()) return nullptr;
  return reinterpret_cast<char*>(BufferOf(batch).data) +
         (position - BeginOf(batch)) * options_.shape.bytes();
}

void BatchRing::Done(int64_t position, int64_t item, int64_t* mix_ns) {
  const int64_t batch = BatchOf(position);
  Buffer& buffer = BufferOf(batch);
  const int slot = static_cast<int>(position - BeginOf(batch));
  buffer.batch.items[slot] = item;
  const int partner = MixPartner(slot, buffer.batch.size);
  if (buffer.batch.mix.kind != MixKind::kNone && partner != slot) {
    // The second of the pair mixes; it sees what the first has written.
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

bool BatchRing::WaitFor(double seconds) {
  std::unique_lock<std::mutex> lock(mutex_);
  return ready_.wait_for(lock, std::chrono::duration<double>(seconds), [this] {
    return ended() || next_ == batches_ || BufferOf(next_).ready;
  });
}

void BatchRing::ReplaceMemory(float* data) {
  const std::lock_guard<std::mutex> lock(mutex_);
  BufferOf(next_ - 1).data = data;
}

bool BatchRing::NextRange(int64_t* begin, int64_t* end) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (next_ == batches_) return false;
  *begin = BeginOf(next_);
  *end = BeginOf(next_ + 1);
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

namespace {

constexpr size_t kLargePage = size_t{2} << 20;

class Pages : public MemoryBlock {
 public:
  Pages(void* map, size_t mapped) : map_(map), mapped_(mapped) {
    const auto address = reinterpret_cast<uintptr_t>(map);
    aligned_ = static_cast<char*>(map) + (-address & (kLargePage - 1));
  }
  ~Pages() override { munmap(map_, mapped_); }
  float* data() const override { return reinterpret_cast<float*>(aligned_); }

 private:
  void* map_;
  size_t mapped_;
  char* aligned_;
};

class PageAllocator : public BatchMemory {
 public:
  absl::StatusOr<std::unique_ptr<MemoryBlock>> Allocate(size_t bytes) override {
    const size_t mapped = bytes + kLargePage;  // Room for alignment.
    void* map = mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "no ", bytes, " bytes for a batch; a smaller batch_size needs less"));
    }
    auto pages = std::make_unique<Pages>(map, mapped);
    if (bytes >= kLargePage) madvise(pages->data(), bytes, MADV_HUGEPAGE);
    Touch(reinterpret_cast<char*>(pages->data()), bytes);
    return pages;
  }

 private:
  static void Touch(char* data, size_t bytes) {
#ifdef MADV_POPULATE_WRITE
    if (madvise(data, bytes, MADV_POPULATE_WRITE) == 0) return;
#endif
    // Before Linux 5.14.
    for (size_t i = 0; i < bytes; i += 4096) data[i] = 0;
  }
};

}  // namespace

std::unique_ptr<BatchMemory> PageMemory() {
  return std::make_unique<PageAllocator>();
}

absl::StatusOr<std::unique_ptr<MemoryBlock>> BlockPool::Take(
    size_t bytes, BatchMemory* memory) {
  std::unique_ptr<MemoryBlock> block;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (bytes != bytes_) free_.clear();
    bytes_ = bytes;
    // The one given back last: part of it may still be in a cache.
    auto found = std::find_if(free_.rbegin(), free_.rend(),
                              [](const auto& one) { return !one->busy(); });
    // The first one of the busy ones is idle first.
    if (found == free_.rend() && free_.size() >= most_free_ && !free_.empty()) {
      --found;
    }
    if (found != free_.rend()) {
      block = std::move(*found);
      free_.erase(std::next(found).base());
    }
  }
  if (block == nullptr) return memory->Allocate(bytes);
  block->WaitUntilIdle();
  return block;
}

void BlockPool::GiveBack(std::unique_ptr<MemoryBlock> block, size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (bytes == bytes_ && free_.size() < most_free_) {
    free_.push_back(std::move(block));
  }
}

}  // namespace feedrate
