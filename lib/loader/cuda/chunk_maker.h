// Makes a few samples at a time: from files to their place in a batch on the
// device. Includes the nvJPEG decoder.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/loader/batch.h"
#include "lib/loader/cuda/entries_decoder.h"
#include "lib/loader/cuda/gpu_recipe.h"
#include "lib/loader/cuda/gpu_work.h"
#include "lib/loader/epoch_report.h"
#include "lib/loader/jpeg_index.h"
#include "lib/loader/sample/item_decoder.h"
#include "lib/loader/source.h"
#include "lib/ops/cuda/cuda_device.h"
#include "lib/ops/cuda/kernels/batch.h"
#include "lib/ops/cuda/kernels/recipe.h"

// The part of nvJPEG's binary interface that feedrate calls. Declared here
// because the library is loaded at run time: it comes with the CUDA toolkit or
// as a Python package, and a machine may have neither.

extern "C" {

using NvjpegStatus = int;  // 0 is success.
using NvjpegHandle = struct NvjpegHandleOpaque*;
using NvjpegState = struct NvjpegStateOpaque*;

enum NvjpegBackend {
  kNvjpegGpuHybrid = 2,  // Huffman decoding on the GPU's multiprocessors.
  kNvjpegHardware = 3,   // A dedicated engine.
};
enum NvjpegOutput { kNvjpegInterleavedRgb = 5 };

struct NvjpegImage {
  unsigned char* channel[4];
  size_t pitch[4];
};

using NvjpegCreateExFn = NvjpegStatus (*)(int backend, void* device_allocator,
                                          void* pinned_allocator,
                                          unsigned flags, NvjpegHandle* handle);
using NvjpegDestroyFn = NvjpegStatus (*)(NvjpegHandle handle);
using NvjpegStateCreateFn = NvjpegStatus (*)(NvjpegHandle handle,
                                             NvjpegState* state);
using NvjpegStateDestroyFn = NvjpegStatus (*)(NvjpegState state);
using NvjpegBatchedInitializeFn = NvjpegStatus (*)(NvjpegHandle handle,
                                                   NvjpegState state,
                                                   int batch_size,
                                                   int max_cpu_threads,
                                                   int output);
using NvjpegDecodeBatchedFn = NvjpegStatus (*)(
    NvjpegHandle handle, NvjpegState state, const unsigned char* const* data,
    const size_t* lengths, NvjpegImage* destinations, cudaStream_t stream);
using NvjpegEnginesFn = NvjpegStatus (*)(NvjpegHandle handle, unsigned* engines,
                                         unsigned* cores_each);
}

namespace feedrate {

// nvJPEG: decodes batches of JPEG files to pixels on the device.

// The library, loaded at run time. Must outlive its decoders. Thread-safe.
class NvJpeg {
 public:
  // Loads the library. NotFound, with what to install, if it cannot be loaded.
  // A file named by $NVJPEG_LIBRARY is tried first.
  static absl::StatusOr<std::unique_ptr<NvJpeg>> Load();
  ~NvJpeg();

  NvjpegCreateExFn create = nullptr;
  NvjpegDestroyFn destroy = nullptr;
  NvjpegStateCreateFn state_create = nullptr;
  NvjpegStateDestroyFn state_destroy = nullptr;
  NvjpegBatchedInitializeFn batched_initialize = nullptr;
  NvjpegDecodeBatchedFn decode_batched = nullptr;
  // Null before CUDA 12.
  NvjpegEnginesFn engines = nullptr;

 private:
  explicit NvJpeg(void* handle) : handle_(handle) {}
  void* const handle_;
};

// Decodes one batch after another. Not thread-safe: use one per thread.
class NvJpegDecoder {
 public:
  // Unavailable if the device has no such backend. `library` must outlive it.
  static absl::StatusOr<std::unique_ptr<NvJpegDecoder>> Create(
      const NvJpeg& library, NvjpegBackend backend);
  ~NvJpegDecoder();

  // Number of hardware engines; 0: unknown.
  int engines() const { return engines_; }

  // Enqueues decoding of whole files to RGB images of their sizes. The files
  // must stay unchanged until the stream is done. Returns the indexes of files
  // that it does not decode: broken, truncated, or too large for its memory.
  // REQUIRES: baseline files of one or three components.
  absl::StatusOr<std::vector<int>> Decode(
      const std::vector<absl::string_view>& files,
      const std::vector<fused::ByteImage>& images, cudaStream_t stream);

 private:
  explicit NvJpegDecoder(const NvJpeg& library) : library_(library) {}
  absl::Status DecodeSome(int first, int count, cudaStream_t stream);

  const NvJpeg& library_;
  NvjpegHandle handle_ = nullptr;
  NvjpegState state_ = nullptr;
  int engines_ = 0;
  // Batch size that the decoder state is prepared for.
  int batch_size_ = 0;
  std::vector<const unsigned char*> data_;
  std::vector<size_t> lengths_;
  std::vector<NvjpegImage> destinations_;
};

// What all makers of a loader share.
struct ChunkContext {
  const Source& source;
  const GpuRecipe& recipe;
  // Receives the properties of each file.
  DecodeCost& cost;
  // False: a file that cannot be used ends the epoch.
  bool skip_faults = true;
  // Of JPEG files, or null. Makers without nvJPEG then decode on the device
  // what it has, and add to it what it lacks.
  JpegIndex* index = nullptr;
};

// A part of a batch to make.
struct GpuChunk {
  BatchQueue::Piece piece;
  // For each sample: position in the epoch, and item.
  std::vector<int64_t> positions;
  std::vector<int64_t> items;
  uint64_t seed = 0;
  int64_t epoch = 0;
  MixPlan mix;
  // The whole batch, in device memory.
  float* batch = nullptr;
};

// Seconds per stage.
struct ChunkTimes {
  double read_s = 0;
  double decode_s = 0;
  // Copy and launch, as seen by the host.
  double augment_s = 0;
  // The part of these in which the thread waited for the device.
  double sync_s = 0;
};

// Stream, decoder and memory of one thread. Not thread-safe.
class ChunkMaker {
 public:
  // With a null `decoder` the CPU decodes the part of each file that its window
  // needs, and copies those pixels, except for files of an index, whose codes
  // go to the device. Otherwise whole files go to the device.
  // `context` must outlive it.
  static absl::StatusOr<std::unique_ptr<ChunkMaker>> Create(
      const ChunkContext& context, std::unique_ptr<NvJpegDecoder> decoder);
  ~ChunkMaker();

  // Number of items that it should take at a time, and from which end of a
  // batch.
  int chunk() const { return by_cpu() ? 8 : 64; }
  BatchQueue::End end() const {
    return by_cpu() ? BatchQueue::End::kLow : BatchQueue::End::kHigh;
  }
  bool by_cpu() const { return decoder_ == nullptr && entries_ == nullptr; }

  // Makes the samples of a chunk and waits until they are in their batch. Adds
  // faults to `faults`; the next usable item replaces a bad one. Writes the
  // item of each sample to its place in `items`, which may be null.
  absl::Status Make(const GpuChunk& chunk, FaultList* faults,
                    int64_t* items = nullptr);

  const ChunkTimes& times() const { return times_; }
  // Memory on the device, without what nvJPEG allocates itself.
  int64_t device_bytes() const {
    return device_.bytes() + decoded_.bytes() +
           (entries_ == nullptr ? 0 : entries_->device_bytes());
  }

 private:
  struct Sample {
    ReadBuffer buffer;
    absl::string_view file;
    int64_t item = 0;
    FusedSize size;
    fused::Recipe recipe;
    // Offset of its pixels: in the copied block, or in the engine's output.
    int64_t offset = 0;
    bool on_device = false;
    std::string entries;  // Of the index.
  };

  explicit ChunkMaker(const ChunkContext& context) : context_(context) {}
  absl::Status Open(int64_t item, const GpuChunk& chunk, Sample* sample);
  absl::Status OpenUsable(const GpuChunk& chunk, int i);
  absl::Status ReserveHost(int64_t bytes, FusedSize image);
  absl::Status DecodeOnHost(Sample* sample);
  // True if the index has a file that the device decodes.
  bool FindEntries(Sample* sample) const;
  absl::Status DecodeEntries(const GpuChunk& chunk);
  bool AddEntries(Sample* sample);
  absl::Status DecodeAdded(std::vector<int>* refused);
  absl::Status DecodeOnDevice(const GpuChunk& chunk);
  absl::Status UseCpu(const GpuChunk& chunk, const std::vector<int>& samples);
  void Describe(const GpuChunk& chunk);
  absl::Status Upload(const GpuChunk& chunk);
  absl::Status Launch(const GpuChunk& chunk);
  absl::Status TryToMake(const GpuChunk& chunk);

  const ChunkContext& context_;
  // At most one of the two.
  std::unique_ptr<NvJpegDecoder> decoder_;
  std::unique_ptr<EntriesDecoder> entries_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t done_ = nullptr;
  ItemDecoder items_;
  // True if the engine decodes what it can, false if the CPU decodes.
  bool by_engine_ = false;
  // Faults of the current chunk.
  std::vector<ItemFault> faults_;
  std::deque<Sample> samples_;
  // Images, recipes and places for the launch, then the pixels that the CPU
  // decoded: one copy.
  PinnedBlock host_;
  int64_t host_bytes_ = 0;
  DeviceBlock device_;
  // Output of the engine.
  DeviceBlock decoded_;
  // What the engine decodes: files, their images, and the samples they belong
  // to.
  std::vector<absl::string_view> files_;
  std::vector<fused::ByteImage> images_;
  std::vector<int> engine_samples_;
  ChunkTimes times_;
};

}  // namespace feedrate
