#include "lib/model/worker/validation.h"

#include <ATen/ops/tensor.h>

#include <cmath>
#include <stdexcept>
#include <utility>

#include "lib/model/worker/image_scores.h"
#include "lib/model/worker/loader_batches.h"

namespace feedrate {

Validator::Validator(const TrainSpec& spec, const ModelSpec& model,
                     const std::vector<std::string>& classes)
    : image_size_(model.image_size),
      workers_(spec.workers),
      world_size_(spec.world_size) {
  ImageFolder folder;
  folder.path = spec.validation_folder;
  folder.classes = model.classes;
  folder.rank = spec.rank;
  folder.world_size = spec.world_size;
  auto images = ListLabeledImages(folder, classes);
  if (!images.ok()) {
    throw std::runtime_error("validation: " +
                             std::string(images.status().message()));
  }
  // Numbers in `.cls` members need no names.
  if (classes.empty() && images->shards.empty()) {
    throw std::runtime_error(
        "validation: the data of the training has no classes; it needs a "
        "subfolder per class");
  }
  images_ = *std::move(images);
  // Of all processes together, so the first one tells.
  if (spec.rank == 0) unusable_ = static_cast<int64_t>(images_.special.size());
}

Validation Validator::Run(const Trainer& trainer, at::Device device,
                          GradientSync* sync,
                          const std::function<void()>& alive) const {
  LoaderBatchOptions options;
  options.batch_size = kScoredBatch;
  options.image_size = image_size_;
  options.workers = workers_;
  ImageScores scores;
  // A process beyond the number of images has none.
  if (!images_.files.empty()) {
    scores = ScoreImages(images_, options, /*threads=*/1,
                         [&](const at::Tensor& batch) {
                           alive();
                           return trainer.Predict(batch);
                         });
  }
  const int64_t skipped = scores.skipped.total + unusable_;
  at::Tensor sums = at::tensor({static_cast<double>(scores.images),
                                static_cast<double>(scores.top1),
                                static_cast<double>(scores.top5),
                                scores.loss_sum, static_cast<double>(skipped)})
                        .to(device);
  // The mean over processes, of which mostly ratios are used.
  if (sync != nullptr) sync->Average(sums);
  sums = sums.to(at::kCPU);
  const double* const sum = sums.const_data_ptr<double>();
  if (sum[0] == 0) {
    throw std::runtime_error("validation: none of the images can be decoded");
  }
  Validation validation;
  validation.set_step(trainer.step());
  validation.set_images(std::llround(sum[0] * world_size_));
  validation.set_skipped(std::llround(sum[4] * world_size_));
  validation.set_top1(100 * sum[1] / sum[0]);
  validation.set_top5(100 * sum[2] / sum[0]);
  validation.set_loss(sum[3] / sum[0]);
  return validation;
}

}  // namespace feedrate
