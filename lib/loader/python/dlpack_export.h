// Batches of images for consumers of DLPack.
#pragma once

#include <memory>

#include "lib/loader/batch.h"

namespace feedrate {

// What a batch has besides its samples' number.
struct ExportedShape {
  SampleShape sample;
  // Frames per sample, which get a dimension of their own. 0 means none.
  int frames = 0;
};

// The batch as a new DLManagedTensor, as feedrate_dlpack (c_api.h) has it.
// `gpu` is below 0 for host memory.
void* ExportBatch(std::shared_ptr<KeptBatch> kept, const ExportedShape& shape,
                  int gpu, void* stream);
// Destructor of a PyCapsule with one that nobody has taken.
void DropCapsule(void* capsule);

}  // namespace feedrate
