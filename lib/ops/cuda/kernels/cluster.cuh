// Sums over the blocks that share an image. Only for kernels.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace feedrate::fused {

// Blocks per image: the largest cluster that every GPU with clusters supports.
constexpr int kClusterBlocks = 8;

#if __CUDA_ARCH__ >= 900
// Waits for all threads of all blocks; earlier writes are visible afterwards.
__device__ __forceinline__ void ClusterSync() {
  asm volatile(
      "barrier.cluster.arrive.release.aligned;\n"
      "barrier.cluster.wait.acquire.aligned;" ::
          : "memory");
}

// `*shared` of the block with that rank.
__device__ __forceinline__ float ReadFromRank(const float* shared,
                                              uint32_t rank) {
  const auto own = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  uint32_t other;
  float value;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(other)
               : "r"(own), "r"(rank));
  asm volatile("ld.shared::cluster.f32 %0, [%1];"
               : "=f"(value)
               : "r"(other)
               : "memory");
  return value;
}
#endif

__device__ __forceinline__ float WarpSum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, offset);
  }
  return value;
}

// Sum of `value` over all threads of the cluster, always added in the same
// order. `scratch` is shared memory for 33 floats. All threads of all blocks of
// the cluster must call it. REQUIRES: whole warps, at most 32.
__device__ __forceinline__ float ClusterSum(float value, float* scratch) {
#if __CUDA_ARCH__ >= 900
  const int lane = threadIdx.x & 31;
  value = WarpSum(value);
  if (lane == 0) scratch[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x < 32) {
    value = lane < blockDim.x / 32 ? scratch[lane] : 0;
    value = WarpSum(value);
    if (lane == 0) scratch[32] = value;
  }
  ClusterSync();
  float sum = 0;
#pragma unroll
  for (uint32_t rank = 0; rank < kClusterBlocks; ++rank) {
    sum += ReadFromRank(scratch + 32, rank);
  }
  // No block may write again, or exit, while others still read.
  ClusterSync();
  return sum;
#else
  // Not reached: LaunchInClusters rejects such devices.
  return value * scratch[0];
#endif
}

// Launches kClusterBlocks blocks for each of `count` images: blockIdx.x is the
// rank in the cluster, blockIdx.y the image. Raises the kernel's limit of
// shared memory. cudaErrorNotSupported if the device has no clusters.
template <typename... Parameters, typename... Arguments>
cudaError_t LaunchInClusters(void (*kernel)(Parameters...), int count,
                             int threads, size_t shared_bytes,
                             cudaStream_t stream, Arguments... arguments) {
  int device = 0;
  int major = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error != cudaSuccess) return error;
  error =
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  if (error != cudaSuccess) return error;
  if (major < 9) return cudaErrorNotSupported;
  error = cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                               cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(shared_bytes));
  if (error != cudaSuccess) {
    cudaGetLastError();  // Clears the error for the next launch.
    return error;
  }
  cudaLaunchAttribute cluster;
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = kClusterBlocks;
  cluster.val.clusterDim.y = 1;
  cluster.val.clusterDim.z = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(kClusterBlocks, count);
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = &cluster;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...);
}

}  // namespace feedrate::fused
