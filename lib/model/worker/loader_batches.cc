#include "lib/model/worker/loader_batches.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/loader/epoch.h"
#include "lib/loader/file_source.h"
#include "lib/loader/loader.h"

namespace feedrate {
namespace {

void Check(const absl::Status& status) {
  if (!status.ok()) {
    throw std::runtime_error("loader: " + std::string(status.message()));
  }
}

class NativeBatches : public BatchSource {
 public:
  NativeBatches(std::unique_ptr<Loader> loader, std::vector<int64_t> classes)
      : loader_(std::move(loader)), classes_(std::move(classes)) {}

  ~NativeBatches() override { epoch_ = nullptr; }

  // Batches come in their order; `index` only counts.
  TrainBatch Get(int64_t) override {
    const LoaderBatch* const batch = Next();
    const at::Tensor images =
        at::from_blob(const_cast<float*>(batch->data),
                      {batch->size, batch->shape.channels, batch->shape.height,
                       batch->shape.width},
                      at::kFloat);
    const at::Tensor classes = at::empty({batch->size}, at::kLong);
    for (int i = 0; i < batch->size; ++i) {
      classes.mutable_data_ptr<int64_t>()[i] =
          classes_[batch->items[i] % classes_.size()];
    }
    // The loader gets its memory back with the next call, when the step that
    // used it has ended.
    return {images, classes};
  }

 private:
  const LoaderBatch* Next() {
    for (int tries = 0; tries < 2; ++tries) {
      if (epoch_ != nullptr) {
        const absl::StatusOr<const LoaderBatch*> batch = epoch_->Next();
        Check(batch.status());
        if (*batch != nullptr) return *batch;
        epoch_ = nullptr;
      }
      auto epoch = loader_->StartEpoch(number_++);
      Check(epoch.status());
      epoch_ = *std::move(epoch);
    }
    throw std::runtime_error("loader: an epoch without a batch");
  }

  std::unique_ptr<Loader> loader_;
  const std::vector<int64_t> classes_;
  std::unique_ptr<Epoch> epoch_;
  int64_t number_ = 0;
};

}  // namespace

std::unique_ptr<BatchSource> MakeLoaderBatches(
    const std::vector<ImageFile>& files, const LoaderBatchOptions& options) {
  std::vector<ListedFile> listed;
  std::vector<int64_t> classes;
  for (const ImageFile& file : files) {
    listed.push_back({file.path, file.bytes});
    classes.push_back(file.label);
  }
  LoaderOptions loader_options;
  loader_options.recipe.crop = static_cast<int>(options.image_size);
  loader_options.batch_size = static_cast<int>(options.batch_size);
  loader_options.workers = options.workers;
  loader_options.persistent = true;
  loader_options.drop_last = true;
  loader_options.shuffle = true;
  loader_options.seed = options.seed;
  TransformSpec flip;
  flip.native_op = "cv::flip";
  flip.params = {"flip_code=1"};
  RecipeStep step;
  step.one_of = {flip};
  step.probability = 0.5;
  loader_options.recipe.steps = {step};
  auto loader = Loader::Create(ListSource(std::move(listed)), loader_options);
  Check(loader.status());
  return std::make_unique<NativeBatches>(*std::move(loader),
                                         std::move(classes));
}

}  // namespace feedrate
