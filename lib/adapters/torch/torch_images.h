// Images under ATen, on the CPU or on a device, one by one or in batches.
#ifndef FEEDRATE_LIB_ADAPTERS_TORCH_TORCH_IMAGES_H_
#define FEEDRATE_LIB_ADAPTERS_TORCH_TORCH_IMAGES_H_

#include <cstdint>
#include <memory>

#include "lib/adapters/torch/op.h"
#include "lib/adapters/worker/adapter.h"
#include "lib/media/corpus.h"

namespace feedrate {

// Where inputs lie and outputs stay.
struct TorchPlace {
  c10::Device device = c10::Device(c10::DeviceType::CPU);
  // Null on the CPU.
  std::unique_ptr<DeviceProbe> probe;
};

struct TorchOps {
  TorchOp image;
  // Null: there is none for batches.
  TorchOp batch;
};

// All items of the corpus are copied to the device first. With `batch` above 0
// a call is one tensor of so many images, where `ops.batch` is there and the
// images are of one size; else images go one by one. `corpus` outlives the
// result. Throws what ATen throws.
std::unique_ptr<PreparedTransform> MakeTorchImages(TorchOps ops,
                                                   const Corpus& corpus,
                                                   int64_t batch,
                                                   TorchPlace place);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_TORCH_TORCH_IMAGES_H_
