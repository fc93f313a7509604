#include "lib/model/torch/device.h"

#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/randn.h>
#include <c10/util/Exception.h>
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <stdexcept>

namespace feedrate {
namespace {

// Reads a line such as `VmHWM:   123 kB` of /proc/self/status.
int64_t StatusBytes(const std::string& key) {
  std::ifstream in("/proc/self/status");
  std::string word;
  while (in >> word) {
    if (word != key) continue;
    int64_t kilobytes = 0;
    in >> kilobytes;
    return kilobytes * 1024;
  }
  return 0;
}

class CpuDevice : public TrainDevice {
 public:
  at::Device device() const override { return at::kCPU; }
  void Synchronize() override {}
  // 5 resets the peak to the current resident size.
  void ResetPeaks() override { std::ofstream("/proc/self/clear_refs") << "5"; }
  MemoryPeaks Peaks() override { return {StatusBytes("VmHWM:"), 0}; }
  std::unique_ptr<PhaseClock> MakeClock() override {
    return MakeWallPhaseClock();
  }
  std::unique_ptr<StepGraph> Record(
      const std::function<void(PhaseClock*)>&) override {
    TORCH_CHECK(false, "graphs are CUDA's; leave --graphs out on the CPU");
  }
  void AllowTf32(bool) override {}
};

}  // namespace

std::unique_ptr<TrainDevice> MakeCpuDevice() {
  return std::make_unique<CpuDevice>();
}

std::unique_ptr<TrainDevice> MakeTrainDevice(const std::string& name,
                                             int index) {
  if (name == "cpu") return MakeCpuDevice();
#if defined(FEEDRATE_CUDA)
  if (name == "cuda") return MakeCudaDevice(index);
#endif
  throw std::runtime_error("device \"" + name +
                           "\" is not in this program; build it with "
                           "--config=cuda for cuda");
}

double TimeCalls(TrainDevice* device, int count,
                 const std::function<void()>& work) {
  device->Synchronize();
  const double start = MonotonicSeconds();
  for (int i = 0; i < count; ++i) work();
  device->Synchronize();
  return MonotonicSeconds() - start;
}

namespace {

constexpr int kTries = 5;

// Far larger than caches, and large enough that call overhead is negligible.
struct Sizes {
  int64_t product;
  int64_t copy_bytes;
  int calls;
};

Sizes SizesFor(const at::Device& device) {
  if (device.is_cuda()) return {8192, int64_t{2} << 30, 5};
  return {1024, int64_t{128} << 20, 1};
}

DeviceRates RatesOf(TrainDevice* device, at::ScalarType type) {
  at::AutoGradMode no_grad(false);
  const Sizes sizes = SizesFor(device->device());
  const auto options = at::TensorOptions().dtype(type).device(device->device());
  const int64_t n = sizes.product;
  // Random, because zeros draw less power and therefore run at a higher clock.
  const at::Tensor a = at::randn({n, n}, options);
  const at::Tensor b = at::randn({n, n}, options);
  at::Tensor product = at::empty({n, n}, options);
  const at::Tensor from =
      at::empty({sizes.copy_bytes}, options.dtype(at::kByte)).fill_(1);
  at::Tensor to = at::empty_like(from);
  DeviceRates rates;
  for (int i = 0; i < kTries; ++i) {
    // Some CPUs use another library for products with a transposed matrix, as
    // in models.
    const double product_s = std::min(
        TimeCalls(device, sizes.calls, [&] { at::matmul_out(product, a, b); }),
        TimeCalls(device, sizes.calls,
                  [&] { at::matmul_out(product, a, b.t()); }));
    const double copy_s =
        TimeCalls(device, sizes.calls, [&] { to.copy_(from); });
    rates.matmul_flops =
        std::max(rates.matmul_flops, sizes.calls * 2.0 * n * n * n / product_s);
    rates.copy_bytes = std::max(rates.copy_bytes,
                                sizes.calls * 2.0 * sizes.copy_bytes / copy_s);
  }
  return rates;
}

}  // namespace

DeviceRates MeasureRates(TrainDevice* device, const std::string& precision) {
  // FP8 is for some products only: bf16 is what all can have.
  const bool is_half =
      precision == "bf16" || precision == "fp16" || precision == "fp8";
  if (!is_half) return RatesOf(device, at::kFloat);
  DeviceRates rates =
      RatesOf(device, precision == "fp16" ? at::kHalf : at::kBFloat16);
  if (device->device().is_cpu()) {
    // A CPU without units for this type is slower in it than in fp32, but its
    // peak is not lower for that.
    rates.matmul_flops =
        std::max(rates.matmul_flops, RatesOf(device, at::kFloat).matmul_flops);
  }
  return rates;
}

namespace {

class WallPhaseClock : public PhaseClock {
 public:
  void StartStep() override {
    current_ = StepTimes();
    start_ = last_ = MonotonicSeconds();
  }

  void Mark(Phase phase) override {
    const double now = MonotonicSeconds();
    current_.phase_s[phase] += now - last_;
    last_ = now;
  }

  void EndStep() override {
    current_.step_s = MonotonicSeconds() - start_;
    steps_.push_back(current_);
  }

  std::vector<StepTimes> Take() override { return std::move(steps_); }

 private:
  StepTimes current_;
  double start_ = 0;
  double last_ = 0;
  std::vector<StepTimes> steps_;
};

}  // namespace

const char* PhaseName(int phase) {
  static constexpr const char* kNames[kPhases] = {
      "data_wait", "copy",      "mixing",    "forward", "loss",
      "backward",  "grad_sync", "optimizer", "other",   "unattributed"};
  return kNames[phase];
}

std::unique_ptr<PhaseClock> MakeWallPhaseClock() {
  return std::make_unique<WallPhaseClock>();
}

double MonotonicSeconds() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

namespace {

// The driver itself averages over 20 ms to one second.
constexpr std::chrono::milliseconds kInterval(50);

// As in nvml.h, which a build machine may not have.
struct Utilization {
  unsigned int gpu;
  unsigned int memory;
};
using Init = int (*)();
using GetHandle = int (*)(const char*, void**);
using GetUtilization = int (*)(void*, Utilization*);

}  // namespace

GpuUse::GpuUse(const std::string& pci_bus_id)
    : thread_([this, pci_bus_id] { Sample(pci_bus_id); }) {}

void GpuUse::Sample(const std::string& pci_bus_id) {
  void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  if (library == nullptr) return;
  const auto init = reinterpret_cast<Init>(dlsym(library, "nvmlInit_v2"));
  const auto handle = reinterpret_cast<GetHandle>(
      dlsym(library, "nvmlDeviceGetHandleByPciBusId_v2"));
  const auto utilization = reinterpret_cast<GetUtilization>(
      dlsym(library, "nvmlDeviceGetUtilizationRates"));
  void* device = nullptr;
  if (init == nullptr || handle == nullptr || utilization == nullptr ||
      init() != 0 || handle(pci_bus_id.c_str(), &device) != 0) {
    return;
  }
  while (!stop_) {
    Utilization use = {};
    if (!paused_ && utilization(device, &use) == 0) {
      sum_ += use.gpu / 100.0;
      ++samples_;
    }
    std::this_thread::sleep_for(kInterval);
  }
}

double GpuUse::Stop() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
  return samples_ == 0 ? -1 : sum_ / samples_;
}

}  // namespace feedrate
