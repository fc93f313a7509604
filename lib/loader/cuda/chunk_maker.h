// A few samples at a time, from files to their place in a batch on the device.
#ifndef FEEDRATE_LIB_LOADER_CUDA_CHUNK_MAKER_H_
#define FEEDRATE_LIB_LOADER_CUDA_CHUNK_MAKER_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/adapters/cuda/batch.h"
#include "lib/adapters/cuda/recipe.h"
#include "lib/loader/batch_mix.h"
#include "lib/loader/cuda/batch_queue.h"
#include "lib/loader/cuda/decode_cost.h"
#include "lib/loader/cuda/device_block.h"
#include "lib/loader/cuda/gpu_recipe.h"
#include "lib/loader/cuda/nvjpeg.h"
#include "lib/loader/fault_list.h"
#include "lib/loader/item_decoder.h"
#include "lib/worker/source_list.h"

namespace feedrate {

// What all makers of a loader share.
struct ChunkContext {
  const std::vector<SourceFile>& files;
  const GpuRecipe& recipe;
  // Is told what the files are.
  DecodeCost& cost;
  // Else a file that cannot be used ends the epoch.
  bool skip_faults = true;
};

// A piece of a batch that is to be made.
struct Chunk {
  BatchQueue::Piece piece;
  // Of the piece's samples: position in the epoch, and item.
  std::vector<int64_t> positions;
  std::vector<int64_t> items;
  uint64_t seed = 0;
  MixPlan mix;
  // The whole batch, in device memory.
  float* batch = nullptr;
};

// Seconds by stage.
struct ChunkTimes {
  double read_s = 0;
  double decode_s = 0;
  // Copy and launch, as the host sees them.
  double augment_s = 0;
};

// One thread's stream, decoder and memory. Not thread-safe.
class ChunkMaker {
 public:
  // `decoder` null: the CPU decodes the part of each file that its window
  // needs, and those pixels are copied. Else whole files go to the device.
  // `context` outlives it.
  static absl::StatusOr<std::unique_ptr<ChunkMaker>> Create(
      const ChunkContext& context, std::unique_ptr<NvJpegDecoder> decoder);
  ~ChunkMaker();

  // Items at a time that suit it, and which of a batch.
  int chunk() const { return by_cpu() ? 8 : 64; }
  BatchQueue::End end() const {
    return by_cpu() ? BatchQueue::End::kLow : BatchQueue::End::kHigh;
  }
  bool by_cpu() const { return decoder_ == nullptr; }

  // Makes the samples of a chunk and waits until they are in their batch.
  // Faults are added to `faults`; the next item that can be used takes the
  // place.
  absl::Status Make(const Chunk& chunk, FaultList* faults);

  const ChunkTimes& times() const { return times_; }
  // On the device, without what nvJPEG keeps for itself.
  int64_t device_bytes() const { return device_.bytes() + decoded_.bytes(); }

 private:
  struct Sample {
    std::string file;
    FusedSize size;
    fused::Recipe recipe;
    // Of its pixels: in what is copied, or in what the engine writes.
    int64_t offset = 0;
    bool on_device = false;
  };

  explicit ChunkMaker(const ChunkContext& context) : context_(context) {}
  absl::Status Open(int64_t item, uint64_t seed, Sample* sample);
  absl::Status OpenUsable(const Chunk& chunk, int i);
  absl::Status ReserveHost(int64_t bytes, FusedSize image);
  absl::Status DecodeOnHost(Sample* sample);
  absl::Status DecodeOnDevice(const Chunk& chunk);
  absl::Status UseCpu(const Chunk& chunk, const std::vector<int>& samples);
  void Describe(const Chunk& chunk);
  absl::Status Upload(const Chunk& chunk);
  absl::Status Launch(const Chunk& chunk);
  absl::Status TryToMake(const Chunk& chunk);

  const ChunkContext& context_;
  std::unique_ptr<NvJpegDecoder> decoder_;
  cudaStream_t stream_ = nullptr;
  ItemDecoder items_;
  // Whether the engine decodes what it can; else the CPU does.
  bool by_engine_ = false;
  // Of the chunk that is being made.
  std::vector<ItemFault> faults_;
  std::vector<Sample> samples_;
  // Images, recipes and places of the launch, then pixels that the CPU
  // decoded: one copy.
  PinnedBlock host_;
  int64_t host_bytes_ = 0;
  DeviceBlock device_;
  // Of the engine.
  DeviceBlock decoded_;
  // What it decodes: files, their images, and which samples they are.
  std::vector<absl::string_view> files_;
  std::vector<fused::ByteImage> images_;
  std::vector<int> engine_samples_;
  ChunkTimes times_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_CUDA_CHUNK_MAKER_H_
