#include "lib/model/torch/batches.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/flip.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/lerp.h>
#include <ATen/ops/one_hot.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <random>
#include <sstream>
#include <stdexcept>

namespace feedrate {
namespace {

// Noise in which each class shifts the mean of its own rows.
TrainBatch MakeImages(const ModelSpec& spec, int64_t samples, uint64_t seed) {
  at::Generator generator = at::detail::createCPUGenerator(seed);
  const at::Tensor images = at::empty(
      {samples, spec.channels, spec.image_size, spec.image_size}, at::kFloat);
  images.normal_(0, 1, generator);
  at::Tensor labels = at::empty({samples}, at::kLong);
  labels.random_(0, spec.classes, generator);
  const auto label = labels.accessor<int64_t, 1>();
  for (int64_t i = 0; i < samples; ++i) {
    images.select(0, i).select(1, label[i] % spec.image_size).add_(1);
  }
  return {images, labels};
}

// Words of a made-up language, each followed by only a few others.
std::string MakeText(int64_t bytes, uint64_t seed) {
  static constexpr const char* kWords[] = {
      "the", "net",  "learns", "a",    "word", "then", "reads",
      "all", "that", "it",     "knew", "and",  "more", "each"};
  constexpr int kCount = sizeof(kWords) / sizeof(kWords[0]);
  std::mt19937_64 random(seed);
  std::string text;
  uint64_t word = 0;
  while (text.size() < static_cast<size_t>(bytes)) {
    text += kWords[word];
    text += ' ';
    word = (3 * word + random() % 3) % kCount;
  }
  text.resize(bytes);
  return text;
}

TrainBatch MakeTexts(const ModelSpec& spec, int64_t samples, uint64_t seed) {
  const int64_t length = spec.context + 1;
  const std::string text = MakeText(samples * length, seed);
  const at::Tensor bytes = TensorOfBytes(text).view({samples, length});
  return {bytes.narrow(1, 0, spec.context).contiguous(),
          bytes.narrow(1, 1, spec.context).contiguous()};
}

class SyntheticBatches : public BatchSource {
 public:
  SyntheticBatches(const ModelSpec& spec, const SyntheticOptions& options)
      : options_(options) {
    const TrainBatch all = spec.kind == ModelKind::kVit
                               ? MakeImages(spec, options.samples, options.seed)
                               : MakeTexts(spec, options.samples, options.seed);
    all_ = {all.input.to(options.device), all.target.to(options.device)};
  }

  TrainBatch Get(int64_t index) override {
    const int64_t size = options_.batch_size;
    const int64_t first =
        (index * options_.world_size + options_.rank) * size % options_.samples;
    // No copy if the batch is contiguous, as it always is if the set is a
    // multiple of the batch.
    if (first + size <= options_.samples) {
      return {all_.input.narrow(0, first, size),
              all_.target.narrow(0, first, size)};
    }
    const at::Tensor places = at::arange(first, first + size, at::kLong)
                                  .remainder(options_.samples)
                                  .to(options_.device);
    return {at::index_select(all_.input, 0, places),
            at::index_select(all_.target, 0, places)};
  }

 private:
  const SyntheticOptions options_;
  TrainBatch all_;
};

}  // namespace

std::unique_ptr<BatchSource> MakeSyntheticBatches(
    const ModelSpec& spec, const SyntheticOptions& options) {
  return std::make_unique<SyntheticBatches>(spec, options);
}

namespace {

class TextBatches : public BatchSource {
 public:
  explicit TextBatches(const TextOptions& options) : options_(options) {
    std::ifstream in(options.file, std::ios::binary);
    std::stringstream content;
    content << in.rdbuf();
    const std::string text = content.str();
    if (!in || text.size() <= static_cast<size_t>(options.context)) {
      throw std::runtime_error(options.file +
                               ": is not there, or shorter than one sample");
    }
    text_ = TensorOfBytes(text);
    const int64_t last = text_.numel() - options.context - 1;
    starts_.push_back(0);
    for (int64_t i = 1; i <= last; ++i) {
      if (text[i - 1] == '\n') starts_.push_back(i);
    }
  }

  TrainBatch Get(int64_t index) override {
    std::mt19937_64 random(options_.seed * 1000003 + index);
    std::vector<at::Tensor> inputs, targets;
    for (int64_t i = 0; i < options_.batch_size; ++i) {
      const int64_t start = starts_[random() % starts_.size()];
      inputs.push_back(text_.narrow(0, start, options_.context));
      targets.push_back(text_.narrow(0, start + 1, options_.context));
    }
    return {at::stack(inputs), at::stack(targets)};
  }

 private:
  const TextOptions options_;
  at::Tensor text_;
  std::vector<int64_t> starts_;
};

}  // namespace

std::unique_ptr<BatchSource> MakeTextBatches(const TextOptions& options) {
  return std::make_unique<TextBatches>(options);
}

at::Tensor TensorOfBytes(const std::string& text) {
  const at::Tensor bytes =
      at::empty({static_cast<int64_t>(text.size())}, at::kLong);
  int64_t* values = bytes.mutable_data_ptr<int64_t>();
  for (size_t i = 0; i < text.size(); ++i) {
    values[i] = static_cast<unsigned char>(text[i]);
  }
  return bytes;
}

namespace {

// One side of a box: `length` pixels around a center, clipped at the border.
struct Span {
  int64_t first;
  int64_t length;
};

Span SpanAround(double center, double length, int64_t size) {
  const auto first = static_cast<int64_t>(
      std::max(0.0, std::round(center * size - length / 2)));
  const auto last = static_cast<int64_t>(
      std::min<double>(size, std::round(center * size + length / 2)));
  return {std::min(first, size), std::max<int64_t>(0, last - first)};
}

at::Tensor ProbabilitiesOf(const MixingOptions& options,
                           const at::Tensor& target) {
  const double share = options.label_smoothing;
  return at::one_hot(target, options.classes)
      .to(at::kFloat)
      .mul(1 - share)
      .add(share / static_cast<double>(options.classes));
}

}  // namespace

TrainBatch MixBatch(const MixingOptions& options, int64_t index,
                    const TrainBatch& batch) {
  if (options.kind.empty()) {
    if (options.label_smoothing == 0) return batch;
    return {batch.input, ProbabilitiesOf(options, batch.target)};
  }
  std::string kind = options.kind;
  if (kind == "both") kind = index % 2 == 0 ? "mixup" : "cutmix";
  if (kind != "mixup" && kind != "cutmix") {
    throw std::runtime_error("mixing \"" + kind +
                             "\" is unknown; use mixup, cutmix or both");
  }
  std::mt19937_64 random(options.seed * 1000003 + index);
  const auto uniform = [&random] {
    return std::generate_canonical<double, 53>(random);
  };
  double share = uniform();  // How much of the other image is mixed in.
  const at::Tensor other = at::flip(batch.input, {0});
  at::Tensor images;
  if (kind == "mixup") {
    images = at::lerp(batch.input, other, share);
  } else {
    const int64_t height = batch.input.size(2);
    const int64_t width = batch.input.size(3);
    const double side = std::sqrt(share);
    const Span rows = SpanAround(uniform(), side * height, height);
    const Span columns = SpanAround(uniform(), side * width, width);
    images = batch.input.clone();
    images.narrow(2, rows.first, rows.length)
        .narrow(3, columns.first, columns.length)
        .copy_(other.narrow(2, rows.first, rows.length)
                   .narrow(3, columns.first, columns.length));
    share = static_cast<double>(rows.length * columns.length) /
            static_cast<double>(height * width);
  }
  const at::Tensor classes = ProbabilitiesOf(options, batch.target);
  return {images, at::lerp(classes, at::flip(classes, {0}), share)};
}

at::Tensor KeptBranches(const DepthOptions& options, int64_t index,
                        int64_t blocks, int64_t batch_size) {
  // Other numbers than those of MixBatch.
  std::seed_seq seeds{options.seed, options.seed >> 32,
                      static_cast<uint64_t>(index),
                      static_cast<uint64_t>(index) >> 32};
  std::mt19937_64 random(seeds);
  const int64_t all = batch_size * options.world_size;
  std::vector<float> kept;
  kept.reserve(2 * blocks * all);
  for (int64_t branch = 0; branch < 2 * blocks; ++branch) {
    const double depth =
        blocks == 1 ? 0 : static_cast<double>(branch / 2) / (blocks - 1);
    const double keep = 1 - options.rate * depth;
    for (int64_t i = 0; i < all; ++i) {
      const double drawn = std::generate_canonical<double, 53>(random);
      kept.push_back(drawn < keep ? static_cast<float>(1 / keep) : 0);
    }
  }
  return at::tensor(kept)
      .view({2 * blocks, all})
      .narrow(1, options.rank * batch_size, batch_size);
}

}  // namespace feedrate
