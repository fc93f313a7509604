#include "lib/adapters/torch/torch_probe.h"

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/adapters/torch/gpu_bus.h"

namespace feedrate {
namespace {

// Several times the largest L2.
constexpr int64_t kFlushBytes = int64_t{512} << 20;
constexpr int kCopies = 5;
constexpr auto kAllPools =
    static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);

class TorchProbe : public DeviceProbe {
 public:
  TorchProbe()
      : guard_(c10::DeviceType::CUDA),
        begin_(c10::DeviceType::CUDA, c10::EventFlag::BACKEND_DEFAULT),
        end_(c10::DeviceType::CUDA, c10::EventFlag::BACKEND_DEFAULT),
        other_(at::empty({kFlushBytes}, at::TensorOptions(at::kByte).device(
                                            c10::DeviceType::CUDA, 0))),
        bus_(GpuBusId()) {}

  void Flush() override {
    other_.fill_(1);
    guard_.synchronizeStream(Stream());
  }
  void Begin() override { begin_.record(Stream()); }
  double End() override {
    end_.record(Stream());
    end_.synchronize();
    return begin_.elapsedTime(end_) * 1e-3;
  }
  void ResetPeaks() override { Allocator()->resetPeakStats(0); }
  // Without what flushes the caches.
  Memory Peaks() override {
    const auto stats = Allocator()->getDeviceStats(0);
    return {stats.allocated_bytes[kAllPools].peak - kFlushBytes,
            stats.reserved_bytes[kAllPools].peak - kFlushBytes};
  }
  double CopyBytesPerSecond() override {
    const int64_t half = kFlushBytes / 2;
    at::Tensor to = other_.slice(0, half);
    const at::Tensor from = other_.slice(0, 0, half);
    double least = 1e9;
    for (int i = 0; i < kCopies; ++i) {
      Begin();
      to.copy_(from);
      least = std::min(least, End());
    }
    return 2.0 * static_cast<double>(half) / std::max(least, 1e-9);
  }
  std::string pci_bus_id() const override { return bus_; }

 private:
  c10::Stream Stream() const {
    return guard_.getStream(c10::Device(c10::DeviceType::CUDA, 0));
  }
  static c10::DeviceAllocator* Allocator() {
    return at::getDeviceAllocator(c10::DeviceType::CUDA);
  }

  const c10::impl::VirtualGuardImpl guard_;
  c10::Event begin_;
  c10::Event end_;
  at::Tensor other_;
  const std::string bus_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<DeviceProbe>> MakeTorchProbe() {
  if (!at::globalContext().hasCUDA()) {
    return absl::FailedPreconditionError(
        "torch finds no CUDA here: this worker was built without "
        "--config=cuda, "
        "or there is no GPU; use device cpu");
  }
  return std::make_unique<TorchProbe>();
}

}  // namespace feedrate
