#include "lib/adapters/torch/torch_adapter.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/stack.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/Event.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>
#include <torch/version.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/adapters/torch/op.h"
#include "lib/base/status_macros.h"
#include "lib/ops/params.h"

namespace feedrate {
namespace {

// PCI bus id of the first CUDA device, from the CUDA runtime that torch has
// loaded; empty if none is loaded.
std::string GpuBusId() {
  // Building for libtorch does not need CUDA's headers.
  using GetBusId = int (*)(char* text, int length, int device);
  const auto get_bus_id =
      reinterpret_cast<GetBusId>(dlsym(RTLD_DEFAULT, "cudaDeviceGetPCIBusId"));
  char text[32] = {};
  if (get_bus_id == nullptr || get_bus_id(text, sizeof(text), 0) != 0) {
    return "";
  }
  return text;
}

// Several times the largest L2.
constexpr int64_t kFlushBytes = int64_t{512} << 20;
constexpr int kCopies = 5;
constexpr auto kAllPools =
    static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);

class TorchProbe : public DeviceProbe {
 public:
  TorchProbe()
      : guard_(c10::DeviceType::CUDA),
        begin_(c10::DeviceType::CUDA, c10::EventFlag::BACKEND_DEFAULT),
        end_(c10::DeviceType::CUDA, c10::EventFlag::BACKEND_DEFAULT),
        other_(at::empty({kFlushBytes}, at::TensorOptions(at::kByte).device(
                                            c10::DeviceType::CUDA, 0))),
        bus_(GpuBusId()) {}

  void Flush() override {
    other_.fill_(1);
    guard_.synchronizeStream(Stream());
  }
  void Begin() override { begin_.record(Stream()); }
  double End() override {
    end_.record(Stream());
    end_.synchronize();
    return begin_.elapsedTime(end_) * 1e-3;
  }
  void ResetPeaks() override { Allocator()->resetPeakStats(0); }
  // Without the memory for flushing the caches.
  Memory Peaks() override {
    const auto stats = Allocator()->getDeviceStats(0);
    return {stats.allocated_bytes[kAllPools].peak - kFlushBytes,
            stats.reserved_bytes[kAllPools].peak - kFlushBytes};
  }
  double CopyBytesPerSecond() override {
    const int64_t half = kFlushBytes / 2;
    at::Tensor to = other_.slice(0, half);
    const at::Tensor from = other_.slice(0, 0, half);
    double least = 1e9;
    for (int i = 0; i < kCopies; ++i) {
      Begin();
      to.copy_(from);
      least = std::min(least, End());
    }
    return 2.0 * static_cast<double>(half) / std::max(least, 1e-9);
  }
  std::string pci_bus_id() const override { return bus_; }

 private:
  c10::Stream Stream() const {
    return guard_.getStream(c10::Device(c10::DeviceType::CUDA, 0));
  }
  static c10::DeviceAllocator* Allocator() {
    return at::getDeviceAllocator(c10::DeviceType::CUDA);
  }

  const c10::impl::VirtualGuardImpl guard_;
  c10::Event begin_;
  c10::Event end_;
  at::Tensor other_;
  const std::string bus_;
};

// A probe of the first device that uses torch's own events and allocator,
// through interfaces that exist even in libtorch without CUDA.
// FailedPrecondition if this program or this machine has no CUDA.
absl::StatusOr<std::unique_ptr<DeviceProbe>> MakeTorchProbe() {
  if (!at::globalContext().hasCUDA()) {
    return absl::FailedPreconditionError(
        "torch finds no CUDA here: this worker was built without "
        "--config=cuda, "
        "or there is no GPU; use device cpu");
  }
  return std::make_unique<TorchProbe>();
}

// Where inputs are and outputs stay.
struct TorchPlace {
  c10::Device device = c10::Device(c10::DeviceType::CPU);
  // Null on the CPU.
  std::unique_ptr<DeviceProbe> probe;
};

// A tensor over the corpus, without a copy. ATen has no const data, but the
// mapping is read-only.
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
    // Seeds at::rand and similar functions, on the CPU and on devices.
    at::manual_seed(random_.Next());
  }

 protected:
  at::Tensor Apply(const at::Tensor& in) {
    // No gradients are needed, nor the bookkeeping for them.
    const c10::InferenceMode inference;
    return op_(in, &random_);
  }
  const c10::Device& where() const { return place_.device; }

  // A view of a copy on the CPU, after all enqueued work.
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

// Images of any sizes, one call each.
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
    // Batches that wrap around find the first images again at the end, since
    // concatenating would take time.
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
  // With a neighbor, so that outputs of a batch are compared.
  absl::StatusOr<Output> RunForOutput(int64_t item) override {
    RunChunk(item, std::min<int64_t>(2, items_), items_);
    return Show(output_[0]);
  }
  DeviceBytes BytesOf(int64_t item) override {
    return {static_cast<int64_t>(all_[0].nbytes()), output_bytes_};
  }

 private:
  at::Tensor Part(int64_t first, int64_t count, int64_t num_items) const {
    // The whole set with the repeated images, or a part that wraps around
    // earlier.
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
  // Items, and possibly the first of them again.
  at::Tensor all_;
  at::Tensor output_;
  int64_t output_bytes_ = 0;
};

struct TorchOps {
  TorchOp image;
  // Null: there is none for batches.
  TorchOp batch;
};

// Copies all items of the corpus to the device first. With `batch` above 0 a
// call is one tensor of that many images, if `ops.batch` exists and the images
// have one size; otherwise images are processed one by one. `corpus` must
// outlive the result. Throws what ATen throws.
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

// Each frame of a clip by itself, all with the same parameters.
class TorchClipTransform : public PreparedTransform {
 public:
  TorchClipTransform(TorchOp op, const Corpus& corpus, TorchPlace place)
      : op_(std::move(op)), probe_(std::move(place.probe)) {
    inputs_.reserve(corpus.size());
    for (int64_t i = 0; i < corpus.size(); ++i) {
      const ItemView item = corpus.item(i);
      const at::Tensor clip = at::from_blob(
          const_cast<void*>(item.data),
          {item.frames, item.channels, item.height, item.width}, at::kByte);
      inputs_.push_back(clip.to(place.device));
    }
  }

  DeviceProbe* device() override { return probe_.get(); }
  DeviceBytes BytesOf(int64_t item) override {
    return {static_cast<int64_t>(inputs_[item].nbytes()),
            static_cast<int64_t>(output_.nbytes())};
  }

  void Seed(uint64_t seed) override { random_ = Random(seed); }

  void Run(int64_t item) override {
    const c10::InferenceMode inference;
    // Operations that use torch's own generator must also draw the same for
    // each frame.
    const uint64_t seed = random_.Next();
    const Random drawn = random_;
    frames_.clear();
    for (int64_t i = 0; i < inputs_[item].size(0); ++i) {
      random_ = drawn;
      at::manual_seed(seed);
      frames_.push_back(op_(inputs_[item][i], &random_));
    }
    output_ = at::stack(frames_);
  }

  absl::StatusOr<Output> RunForOutput(int64_t item) override {
    Run(item);
    if (!output_.is_contiguous() || output_.scalar_type() != at::kByte) {
      return absl::InternalError("an output is not contiguous bytes");
    }
    Output output;
    shown_ = output_.cpu();
    output.data = shown_.const_data_ptr();
    output.bytes = static_cast<int64_t>(shown_.nbytes());
    output.dtype = "uint8";
    output.layout = "TCHW";
    output.shape = output_.sizes().vec();
    return output;
  }

 private:
  TorchOp op_;
  Random random_;
  std::unique_ptr<DeviceProbe> probe_;
  std::vector<at::Tensor> inputs_;
  std::vector<at::Tensor> frames_;
  at::Tensor output_;
  at::Tensor shown_;
};

absl::Status CheckCorpus(const Corpus& corpus) {
  if (corpus.dtype() != DType::kUint8 || corpus.layout() != Layout::kChw) {
    return absl::InvalidArgumentError("torch needs a corpus of uint8 CHW");
  }
  for (int64_t i = 0; i < corpus.size(); ++i) {
    if ((corpus.item(i).frames > 1) != (corpus.item(0).frames > 1)) {
      return absl::InvalidArgumentError(
          absl::StrCat("torch needs images or clips; item ", i,
                       " is not what the first is"));
    }
  }
  return absl::OkStatus();
}

void SetThreads(const PrepareCommand& spec) {
  if (spec.torch_intra_op() > 0) at::set_num_threads(spec.torch_intra_op());
  // Can be set only once per process, so only if necessary.
  if (spec.torch_inter_op() > 0 &&
      spec.torch_inter_op() != at::get_num_interop_threads()) {
    at::set_num_interop_threads(spec.torch_inter_op());
  }
}

}  // namespace

TorchAdapter::TorchAdapter() : TorchAdapter(MakeTorchProbe, "cuda:0") {}

std::string TorchAdapter::version() const { return TORCH_VERSION; }

int TorchAdapter::threads() const { return at::get_num_threads(); }

absl::StatusOr<std::unique_ptr<PreparedTransform>> TorchAdapter::Prepare(
    const PrepareCommand& spec, const Corpus& corpus) {
  TorchPlace place;
  if (spec.device() == "cuda") {
    ASSIGN_OR_RETURN(place.probe, make_probe_());
    place.device = c10::Device(device_);
  } else if (!spec.device().empty() && spec.device() != "cpu") {
    return absl::InvalidArgumentError(
        absl::StrCat("torch runs on cpu or cuda, not on ", spec.device()));
  }
  RETURN_IF_ERROR(CheckCorpus(corpus));
  SetThreads(spec);
  ASSIGN_OR_RETURN(TorchOp op, MakeTorchOp(TransformOf(spec)));
  if (corpus.item(0).frames > 1) {
    return std::make_unique<TorchClipTransform>(std::move(op), corpus,
                                                std::move(place));
  }
  return MakeTorchImages({std::move(op), MakeTorchBatchOp(TransformOf(spec))},
                         corpus, spec.batch(), std::move(place));
}

}  // namespace feedrate
