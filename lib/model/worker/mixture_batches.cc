#include "lib/model/worker/mixture_batches.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/tensor.h>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "lib/loader/mixture/mixture_folder.h"
#include "lib/loader/mixture/mixture_loader.h"
#include "lib/model/torch/batches.h"
#include "lib/model/worker/image_files.h"
#include "lib/worker/loader_message.h"

namespace feedrate {
namespace {

void Check(const absl::Status& status) {
  if (!status.ok()) {
    throw std::runtime_error("mixture: " + std::string(status.message()));
  }
}

void Apply(const std::string& name, const std::string& value,
           MixtureSpec* spec) {
  const std::map<std::string, int*> numbers = {
      {"read_interleave", &spec->read_interleave},
      {"decode_parallelism", &spec->decode_parallelism},
      {"pipeline_interleave", &spec->pipeline_interleave},
      {"mix_block_length", &spec->mix_block_length},
      {"shuffle_buffer", &spec->shuffle_buffer},
      {"queue_depth", &spec->queue_depth},
      {"samples_per_episode", &spec->samples_per_episode},
      {"pair_offset", &spec->pair_offset},
      {"prime_each_dataset_samples", &spec->prime_each_dataset_samples}};
  const auto found = numbers.find(name);
  if (name == "metadata") {
    spec->metadata = value;
  } else if (found == numbers.end()) {
    throw std::runtime_error("mixture: no setting " + name + " is known");
  } else if (!absl::SimpleAtoi(value, found->second)) {
    throw std::runtime_error("mixture: " + name + " \"" + value +
                             "\" is no whole number");
  }
}

MixtureSpec SpecOf(const MixtureBatchOptions& options) {
  if (options.batch_size % 2 != 0) {
    throw std::runtime_error(
        "mixture: samples have two frames, so the batch size must be even");
  }
  MixtureSpec spec;
  for (const absl::string_view word :
       absl::StrSplit(options.settings, ';', absl::SkipEmpty())) {
    const std::vector<std::string> parts = absl::StrSplit(word, '=');
    if (parts.size() != 2) {
      throw std::runtime_error("mixture: \"" + std::string(word) +
                               "\" is not NAME=VALUE");
    }
    Apply(parts[0], parts[1], &spec);
  }
  spec.batch_size = options.batch_size / 2;
  spec.frame_height = spec.frame_width = static_cast<int>(options.image_size);
  Check(CheckMixtureSpec(spec));
  return spec;
}

class MixtureBatches : public BatchSource {
 public:
  MixtureBatches(const std::vector<MixtureSource>& sources,
                 const MixtureOptions& options, int64_t classes)
      : classes_(classes),
        // As for other images.
        mean_(at::tensor({0.485F, 0.456F, 0.406F}).mul_(255)),
        deviation_(at::tensor({0.229F, 0.224F, 0.225F}).mul_(255)) {
    Check(memory_.Reserve(options.spec));
    auto loader = MixtureLoader::Start(sources, options, &memory_);
    Check(loader.status());
    loader_ = *std::move(loader);
  }

  // Batches come in their order; `index` only counts.
  TrainBatch Get(int64_t) override {
    const absl::StatusOr<const MixtureBatch*> next = loader_->Next();
    Check(next.status());
    const MixtureBatch* const batch = *next;
    if (batch == nullptr) {
      throw std::runtime_error("mixture: there are no batches left");
    }
    const int64_t frames = 2 * static_cast<int64_t>(batch->size);
    const at::Tensor bytes = at::from_blob(
        const_cast<uint8_t*>(batch->frames),
        {frames, batch->shape.height, batch->shape.width, 3}, at::kByte);
    const at::Tensor images =
        bytes.to(at::kFloat).sub_(mean_).div_(deviation_).permute({0, 3, 1, 2});
    const at::Tensor classes = at::empty({frames}, at::kLong);
    int64_t* const out = classes.mutable_data_ptr<int64_t>();
    for (int64_t i = 0; i < frames; ++i) {
      out[i] = (*batch->datasets)[i / 2] % classes_;
    }
    return {images.contiguous(), classes};
  }

 private:
  const int64_t classes_;
  const at::Tensor mean_;
  const at::Tensor deviation_;
  // Outlives the loader.
  MixtureMemory memory_;
  std::unique_ptr<MixtureLoader> loader_;
};

}  // namespace

MixtureFeed MakeMixtureBatches(const MixtureBatchOptions& options) {
  auto sources = ReadMixtureFolder(options.folder);
  Check(sources.status());
  MixtureOptions mixture;
  mixture.spec = SpecOf(options);
  mixture.seed = options.seed;
  // As many as the training wants.
  mixture.count = std::numeric_limits<int64_t>::max() / 2;
  MixtureFeed result;
  for (size_t i = 0; i < sources->size(); ++i) {
    for (const std::string& shard : (*sources)[i].shards) {
      ImageFile file;
      file.path = shard;
      file.bytes = static_cast<int64_t>(std::filesystem::file_size(shard));
      file.label = static_cast<int64_t>(i);
      result.shards.push_back(std::move(file));
    }
  }
  result.batches =
      std::make_unique<MixtureBatches>(*sources, mixture, options.classes);
  return result;
}

}  // namespace feedrate
