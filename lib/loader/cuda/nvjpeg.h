// nvJPEG, loaded at run time: batches of JPEG files to pixels on the device.
#ifndef FEEDRATE_LIB_LOADER_CUDA_NVJPEG_H_
#define FEEDRATE_LIB_LOADER_CUDA_NVJPEG_H_

#include <cuda_runtime_api.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/adapters/cuda/batch.h"
#include "lib/loader/cuda/nvjpeg_abi.h"

namespace feedrate {

// The library. Outlives its decoders. Thread-safe.
class NvJpeg {
 public:
  // NotFound, with what to install, where it cannot be loaded. $NVJPEG_LIBRARY
  // names a file that is tried first.
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

// Decodes batches one after the other. Not thread-safe: one for each thread.
class NvJpegDecoder {
 public:
  // Unavailable where the device has no such backend. `library` outlives it.
  static absl::StatusOr<std::unique_ptr<NvJpegDecoder>> Create(
      const NvJpeg& library, NvjpegBackend backend);
  ~NvJpegDecoder();

  // Of the hardware; 0: not known.
  int engines() const { return engines_; }

  // Enqueues the decoding of whole files, which stay as they are until the
  // stream is done, to images of RGB of their sizes. Returns the numbers of
  // those that it does not decode: broken, cut off, or more than it has memory
  // for. REQUIRES: baseline files of one or three components.
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
  // That the state was made ready for.
  int batch_size_ = 0;
  std::vector<const unsigned char*> data_;
  std::vector<size_t> lengths_;
  std::vector<NvjpegImage> destinations_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_CUDA_NVJPEG_H_
