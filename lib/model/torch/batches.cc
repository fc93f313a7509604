#include "lib/model/torch/batches.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>

#include <random>
#include <string>
#include <vector>

namespace feedrate {
namespace {

// Noise in which each class moves the mean of its own stripe of rows.
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

// Words of a made-up language, each of which is followed by few others.
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
  const at::Tensor bytes = at::empty({samples, length}, at::kLong);
  int64_t* values = bytes.mutable_data_ptr<int64_t>();
  for (size_t i = 0; i < text.size(); ++i) {
    values[i] = static_cast<unsigned char>(text[i]);
  }
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
    // Without a copy where the batch lies in one piece, as it does when the
    // set is a multiple of the batch.
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

}  // namespace feedrate
