#include "lib/adapters/torch/torch_images.h"

#include <ATen/Context.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/adapters/worker/params.h"

namespace feedrate {
namespace {

// A tensor over the corpus, no copy. ATen knows no const data; that nobody
// writes is seen to by the mapping, which is read-only.
at::Tensor TensorOf(const ItemView& item) {
  return at::from_blob(const_cast<void*>(item.data),
                       {item.channels, item.height, item.width}, at::kByte);
}

bool SameSizes(const Corpus& corpus) {
  const ItemView first = corpus.item(0);
  for (int64_t i = 1; i < corpus.size(); ++i) {
    const ItemView item = corpus.item(i);
    if (item.height != first.height || item.width != first.width ||
        item.channels != first.channels) {
      return false;
    }
  }
  return true;
}

class TorchImages : public PreparedTransform {
 public:
  TorchImages(TorchOp op, TorchPlace place)
      : op_(std::move(op)), place_(std::move(place)) {}

  DeviceProbe* device() override { return place_.probe.get(); }

  void Seed(uint64_t seed) override {
    random_ = Random(seed);
    // For at::rand and its like, on the CPU and on devices.
    at::manual_seed(random_.Next());
  }

 protected:
  at::Tensor Apply(const at::Tensor& in) {
    // No gradients are wanted, nor the bookkeeping for them.
    const c10::InferenceMode inference;
    return op_(in, &random_);
  }
  const c10::Device& where() const { return place_.device; }

  // A view of a copy on the CPU, after all that is enqueued.
  absl::StatusOr<Output> Show(const at::Tensor& image) {
    if (!image.is_contiguous() || image.scalar_type() != at::kByte ||
        image.dim() != 3) {
      return absl::InternalError("an output is not contiguous bytes");
    }
    Output output;
    shown_ = image.cpu();
    output.data = shown_.const_data_ptr();
    output.bytes = static_cast<int64_t>(shown_.nbytes());
    output.dtype = "uint8";
    output.layout = "CHW";
    output.shape = image.sizes().vec();
    return output;
  }

 private:
  TorchOp op_;
  Random random_;
  TorchPlace place_;
  at::Tensor shown_;
};

// Images of any sizes, a call each.
class OneByOne : public TorchImages {
 public:
  OneByOne(TorchOp op, const Corpus& corpus, int64_t batch, TorchPlace place)
      : TorchImages(std::move(op), std::move(place)),
        batch_(batch),
        output_bytes_(corpus.size()) {
    inputs_.reserve(corpus.size());
    for (int64_t i = 0; i < corpus.size(); ++i) {
      inputs_.push_back(TensorOf(corpus.item(i)).to(where()));
    }
  }

  void Run(int64_t item) override {
    output_ = Apply(inputs_[item]);
    if (device() != nullptr) {
      output_bytes_[item] = static_cast<int64_t>(output_.nbytes());
    }
  }
  absl::StatusOr<Output> RunForOutput(int64_t item) override {
    Run(item);
    return Show(output_);
  }
  bool per_sample_loop() const override { return batch_ > 0; }
  DeviceBytes BytesOf(int64_t item) override {
    return {static_cast<int64_t>(inputs_[item].nbytes()), output_bytes_[item]};
  }

 private:
  const int64_t batch_;
  std::vector<at::Tensor> inputs_;
  std::vector<int64_t> output_bytes_;
  at::Tensor output_;
};

// Images of one size in one tensor, of which a call takes a part.
class InBatches : public TorchImages {
 public:
  InBatches(TorchOp op, const Corpus& corpus, int64_t batch, TorchPlace place)
      : TorchImages(std::move(op), std::move(place)), items_(corpus.size()) {
    // Batches that go round the end find the first images there once more, as
    // putting them together would take time.
    const int64_t more = items_ % batch == 0 ? 0 : batch - 1;
    const ItemView first = corpus.item(0);
    all_ = at::empty({items_ + more, first.channels, first.height, first.width},
                     at::TensorOptions(at::kByte).device(where()));
    for (int64_t i = 0; i < items_ + more; ++i) {
      all_[i].copy_(TensorOf(corpus.item(i % items_)));
    }
  }

  void Run(int64_t item) override { RunChunk(item, 1, items_); }
  void RunChunk(int64_t first, int64_t count, int64_t num_items) override {
    output_ = Apply(Part(first, count, num_items));
    output_bytes_ = static_cast<int64_t>(output_.nbytes()) / count;
  }
  // With a neighbour, so that it is a batch whose outputs are compared.
  absl::StatusOr<Output> RunForOutput(int64_t item) override {
    RunChunk(item, std::min<int64_t>(2, items_), items_);
    return Show(output_[0]);
  }
  DeviceBytes BytesOf(int64_t item) override {
    return {static_cast<int64_t>(all_[0].nbytes()), output_bytes_};
  }

 private:
  at::Tensor Part(int64_t first, int64_t count, int64_t num_items) const {
    // The same round as of all items, or one that ends before it goes round.
    const int64_t there = num_items == items_ ? all_.size(0) : num_items;
    if (first + count <= there) return all_.slice(0, first, first + count);
    std::vector<at::Tensor> parts;
    for (int64_t left = count; left > 0;) {
      const int64_t some = std::min(left, num_items - first);
      parts.push_back(all_.slice(0, first, first + some));
      left -= some;
      first = 0;
    }
    return at::cat(parts);
  }

  const int64_t items_;
  // Items, and perhaps the first of them once more.
  at::Tensor all_;
  at::Tensor output_;
  int64_t output_bytes_ = 0;
};

}  // namespace

std::unique_ptr<PreparedTransform> MakeTorchImages(TorchOps ops,
                                                   const Corpus& corpus,
                                                   int64_t batch,
                                                   TorchPlace place) {
  if (batch > 0 && ops.batch != nullptr && SameSizes(corpus)) {
    return std::make_unique<InBatches>(std::move(ops.batch), corpus, batch,
                                       std::move(place));
  }
  return std::make_unique<OneByOne>(std::move(ops.image), corpus, batch,
                                    std::move(place));
}

}  // namespace feedrate
