// The part of nvJPEG's binary interface that feedrate calls. Declared here,
// because the library is loaded at run time: it comes with CUDA's toolkit or as
// a Python package, and a machine may have neither.
#ifndef FEEDRATE_LIB_LOADER_CUDA_NVJPEG_ABI_H_
#define FEEDRATE_LIB_LOADER_CUDA_NVJPEG_ABI_H_

#include <cuda_runtime_api.h>

#include <cstddef>

extern "C" {

using NvjpegStatus = int;  // 0 is success.
using NvjpegHandle = struct NvjpegHandleOpaque*;
using NvjpegState = struct NvjpegStateOpaque*;

enum NvjpegBackend {
  kNvjpegGpuHybrid = 2,  // Huffman codes on the GPU's processors.
  kNvjpegHardware = 3,   // An engine of its own.
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

#endif  // FEEDRATE_LIB_LOADER_CUDA_NVJPEG_ABI_H_
