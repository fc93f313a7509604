// How busy a GPU was, as NVIDIA's management library says. Standard library
// only.
#ifndef FEEDRATE_LIB_MODEL_CUDA_GPU_USE_H_
#define FEEDRATE_LIB_MODEL_CUDA_GPU_USE_H_

#include <atomic>
#include <thread>

namespace feedrate {

// Samples from its making to Stop. The library is looked for at run time; where
// there is none, nothing is known.
class GpuUse {
 public:
  explicit GpuUse(int index);
  ~GpuUse() { Stop(); }
  GpuUse(const GpuUse&) = delete;
  GpuUse& operator=(const GpuUse&) = delete;

  // Mean share of the time in which a kernel ran, 0 to 1; -1: not known.
  double Stop();

 private:
  void Sample(int index);

  std::atomic<bool> stop_{false};
  double sum_ = 0;
  int samples_ = 0;
  std::thread thread_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MODEL_CUDA_GPU_USE_H_
