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

// Marks that become nodes of the graph that is being recorded: every replay
// writes the same events again.
class GraphPhaseClock : public PhaseClock {
 public:
  ~GraphPhaseClock() override {
    for (const PhaseEnd& mark : marks_) cudaEventDestroy(mark.event);
  }
  void StartStep() override { Mark(kOther); }
  void Mark(Phase phase) override {
    if (ended_) return;
    cudaEvent_t event;
    C10_CUDA_CHECK(cudaEventCreate(&event));
    marks_.push_back({phase, event});
    C10_CUDA_CHECK(cudaEventRecordWithFlags(
        event, at::cuda::getCurrentCUDAStream(), cudaEventRecordExternal));
  }
  void EndStep() override { ended_ = true; }

  std::vector<StepTimes> Take() override {
    c10::cuda::device_synchronize();
    StepTimes time;
    for (size_t i = 1; i < marks_.size(); ++i) {
      float ms = 0;
      C10_CUDA_CHECK(
          cudaEventElapsedTime(&ms, marks_[i - 1].event, marks_[i].event));
      time.phase_s[marks_[i].phase] += ms * 1e-3;
      time.step_s += ms * 1e-3;
    }
    return {time};
  }

 private:
  struct PhaseEnd {
    Phase phase;
    cudaEvent_t event;
  };
  std::vector<PhaseEnd> marks_;
  bool ended_ = false;
};

class CudaStepGraph : public StepGraph {
 public:
  at::cuda::CUDAGraph& graph() { return graph_; }
  PhaseClock* clock() { return &clock_; }
  void Replay() override { graph_.replay(); }
  StepTimes Phases() override { return clock_.Take().front(); }

 private:
  GraphPhaseClock clock_;
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
    return {stats.allocated_bytes[kAll].peak, stats.reserved_bytes[kAll].peak,
            stats.allocation[kAll].allocated, stats.num_device_alloc};
  }

  GpuPlace gpu() const override {
    const cudaDeviceProp* const properties =
        at::cuda::getDeviceProperties(index_);
    char bus[32] = "";
    C10_CUDA_CHECK(cudaDeviceGetPCIBusId(bus, sizeof(bus), index_));
    return {properties->name, bus,
            static_cast<int64_t>(properties->totalGlobalMem)};
  }

  std::unique_ptr<PhaseClock> MakeClock() override {
    return std::make_unique<EventPhaseClock>();
  }

  std::unique_ptr<StepGraph> Record(
      const std::function<void(PhaseClock*)>& work) override {
    auto graph = std::make_unique<CudaStepGraph>();
    // Nobody reads the marks of the warm-up.
    const std::unique_ptr<PhaseClock> warm_up = MakeWallPhaseClock();
    Synchronize();
    {
      // The default stream cannot be recorded.
      const c10::cuda::CUDAStream stream =
          c10::cuda::getStreamFromPool(/*isHighPriority=*/false, index_);
      const c10::cuda::CUDAStreamGuard on_stream(stream);
      for (int i = 0; i < kGraphWarmUps; ++i) work(warm_up.get());
      Synchronize();
      graph->graph().capture_begin();
      work(graph->clock());
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
