// Evaluates the model of a training on images that it does not train on.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lib/model/flops.h"
#include "lib/model/torch/distributed.h"
#include "lib/model/torch/trainer.h"
#include "lib/model/worker/image_files.h"
#include "lib/model/worker/train_spec.h"
#include "lib/records/train.pb.h"

namespace feedrate {

class Validator {
 public:
  // `classes` are the folders of the training's classes by number.
  // std::runtime_error if the folder has other classes, or if the training has
  // no classes and the folder has no shards.
  Validator(const TrainSpec& spec, const ModelSpec& model,
            const std::vector<std::string>& classes);

  // Scores over all processes, which call this at the same step; `sync` is null
  // for one. Calls `alive` now and then.
  Validation Run(const Trainer& trainer, at::Device device, GradientSync* sync,
                 const std::function<void()>& alive) const;

 private:
  const int64_t image_size_;
  const int workers_;
  const int world_size_;
  // This process's part.
  LabeledImages images_;
  // Number of files with the name of an image that are none.
  int64_t unusable_ = 0;
};

}  // namespace feedrate
