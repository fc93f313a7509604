// The CUDA implementation of device.h, for programs built with --config=cuda.
#include <ATen/Context.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>

#include <utility>
#include <vector>

#include "lib/model/torch/device.h"

namespace feedrate {
namespace {

// Steps before recording a graph, in which libraries choose and load their
// kernels.
constexpr int kGraphWarmUps = 3;

// Events on the stream: no call waits for the device, and GPU idle time counts
// towards the phase that caused it.
class EventPhaseClock : public PhaseClock {
 public:
  void StartStep() override {
    marks_.clear();
    Add(kOther);
  }
  void Mark(Phase phase) override { Add(phase); }
  void EndStep() override { steps_.push_back(std::move(marks_)); }

  std::vector<StepTimes> Take() override {
    c10::cuda::device_synchronize();
    std::vector<StepTimes> times;
    for (const std::vector<PhaseEnd>& marks : steps_) {
      StepTimes time;
      for (size_t i = 1; i < marks.size(); ++i) {
        const double s =
            marks[i - 1].event->elapsed_time(*marks[i].event) * 1e-3;
        time.phase_s[marks[i].phase] += s;
        time.step_s += s;
      }
      times.push_back(time);
    }
    steps_.clear();
    return times;
  }

 private:
  struct PhaseEnd {
    Phase phase;
    std::unique_ptr<at::cuda::CUDAEvent> event;
  };

  void Add(Phase phase) {
    auto event = std::make_unique<at::cuda::CUDAEvent>(cudaEventDefault);
    event->record();
    marks_.push_back({phase, std::move(event)});
  }

  std::vector<PhaseEnd> marks_;
  std::vector<std::vector<PhaseEnd>> steps_;
};

class CudaStepGraph : public StepGraph {
 public:
  at::cuda::CUDAGraph& graph() { return graph_; }
  void Replay() override { graph_.replay(); }

 private:
  at::cuda::CUDAGraph graph_;
};

class CudaDevice : public TrainDevice {
 public:
  explicit CudaDevice(int index) : index_(index), guard_(index) {
    TORCH_CHECK(index >= 0 && index < c10::cuda::device_count(),
                "there is no GPU number ", index);
  }

  at::Device device() const override {
    return {at::kCUDA, static_cast<at::DeviceIndex>(index_)};
  }

  void Synchronize() override { c10::cuda::device_synchronize(); }

  void ResetPeaks() override {
    c10::cuda::CUDACachingAllocator::resetPeakStats(index_);
  }

  MemoryPeaks Peaks() override {
    const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(index_);
    constexpr size_t kAll = 0;  // Small and large blocks together.
    return {stats.allocated_bytes[kAll].peak, stats.reserved_bytes[kAll].peak};
  }

  std::unique_ptr<PhaseClock> MakeClock() override {
    return std::make_unique<EventPhaseClock>();
  }

  std::unique_ptr<StepGraph> Record(
      const std::function<void()>& work) override {
    auto graph = std::make_unique<CudaStepGraph>();
    Synchronize();
    {
      // The default stream cannot be recorded.
      const c10::cuda::CUDAStream stream =
          c10::cuda::getStreamFromPool(/*isHighPriority=*/false, index_);
      const c10::cuda::CUDAStreamGuard on_stream(stream);
      for (int i = 0; i < kGraphWarmUps; ++i) work();
      Synchronize();
      graph->graph().capture_begin();
      work();
      graph->graph().capture_end();
    }
    Synchronize();
    return graph;
  }

  void AllowTf32(bool allow) override {
    at::globalContext().setAllowTF32CuBLAS(allow);
    at::globalContext().setAllowTF32CuDNN(allow);
  }

 private:
  const int index_;
  const c10::cuda::CUDAGuard guard_;
};

}  // namespace

std::unique_ptr<TrainDevice> MakeCudaDevice(int index) {
  return std::make_unique<CudaDevice>(index);
}

}  // namespace feedrate
