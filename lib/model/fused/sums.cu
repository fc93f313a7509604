#include <stdexcept>

#include "lib/model/fused/kernels.h"
#include "lib/model/fused/vectors.cuh"

namespace feedrate {
namespace fused {
namespace {

// 32 columns of a job: each warp adds every kWarps-th part.
__device__ void SumColumns(const SumList::Job& job, int block) {
  __shared__ float part[kWarps][kWarp];
  const int j = block * kWarp + threadIdx.x % kWarp;
  const int w = threadIdx.x / kWarp;
  float sum = 0;
  if (j < job.count) {
#pragma unroll 8
    for (int p = w; p < job.parts; p += kWarps) {
      sum += job.part[p * job.pitch + j];
    }
  }
  part[w][threadIdx.x % kWarp] = sum;
  __syncthreads();
  if (w != 0 || j >= job.count) return;
  sum = 0;
  for (int i = 0; i < kWarps; ++i) sum += part[i][threadIdx.x];
  job.out[j] = job.accumulate ? job.out[j] + sum : sum;
}

// A warp per value of the scale.
__device__ void GradientOfScale(const ScaleGradient& a, int block) {
  const int i = block * kWarps + threadIdx.x / kWarp;
  const int lane = threadIdx.x % kWarp;
  if (i >= a.outputs) return;
  float4 products = {};
#pragma unroll 4
  for (int j = lane * 4; j < a.inputs; j += kWarp * 4) {
    const int64_t at = static_cast<int64_t>(i) * a.inputs + j;
    products = products + Load(a.weight + at) * Load(a.dweight + at);
  }
  float sum = WarpSum(Sum(products));
  if (lane != 0) return;
  if (a.bias != nullptr) sum += __bfloat162float(a.bias[i]) * a.dbias[i];
  a.out[i] = sum / NotZero(a.scale[i]);
}

struct Jobs {
  SumList::Job job[SumList::kMost];
  int count;
};

__global__ void __launch_bounds__(kThreads)
    SumsKernel(const __grid_constant__ Jobs jobs) {
  int block = blockIdx.x, i = 0;
  while (block >= jobs.job[i].blocks) block -= jobs.job[i++].blocks;
  const SumList::Job& job = jobs.job[i];
  if (job.part != nullptr) {
    SumColumns(job, block);
  } else {
    GradientOfScale(job.scale, block);
  }
}

}  // namespace

float* SumList::Take(int64_t floats) {
  float* const place = memory_ + taken_;
  taken_ += floats;
  if (taken_ > floats_) throw std::runtime_error("no room for sums");
  return place;
}

void SumList::Push(const Job& job) {
  if (count_ == kMost) throw std::runtime_error("too many sums");
  jobs_[count_++] = job;
}

void SumList::Add(const float* part, int parts, int pitch, int count,
                  float* out, bool accumulate) {
  Job job;
  job.blocks = (count + kWarp - 1) / kWarp;
  job.part = part;
  job.parts = parts;
  job.pitch = pitch;
  job.count = count;
  job.out = out;
  job.accumulate = accumulate;
  Push(job);
}

void SumList::Add(const ScaleGradient& scale) {
  Job job;
  job.blocks = (scale.outputs + kWarps - 1) / kWarps;
  job.scale = scale;
  Push(job);
}

void SumList::Run(cudaStream_t s) {
  Jobs jobs;
  int blocks = 0;
  for (int i = 0; i < count_; ++i) {
    jobs.job[i] = jobs_[i];
    blocks += jobs_[i].blocks;
  }
  jobs.count = count_;
  count_ = 0;
  taken_ = 0;
  if (blocks == 0) return;
  SumsKernel<<<blocks, kThreads, 0, s>>>(jobs);
  Check("sums");
}

}  // namespace fused
}  // namespace feedrate
