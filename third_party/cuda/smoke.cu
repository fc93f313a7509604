#include <cuda_runtime.h>

#include "third_party/cuda/smoke.h"

namespace feedrate {
namespace {

__global__ void DoubleKernel(float* values, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] *= 2;
}

}  // namespace

std::string DoubleOnGpu(std::vector<float>* values) {
  const size_t bytes = values->size() * sizeof(float);
  const int count = static_cast<int>(values->size());
  float* device = nullptr;
  cudaError_t error = cudaMalloc(&device, bytes);
  if (error != cudaSuccess) return cudaGetErrorString(error);
  cudaMemcpy(device, values->data(), bytes, cudaMemcpyHostToDevice);
  DoubleKernel<<<(count + 255) / 256, 256>>>(device, count);
  error = cudaGetLastError();
  if (error == cudaSuccess) {
    error = cudaMemcpy(values->data(), device, bytes, cudaMemcpyDeviceToHost);
  }
  cudaFree(device);
  return error == cudaSuccess ? "" : cudaGetErrorString(error);
}

}  // namespace feedrate
