#include "lib/machine/gpu_watch.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"
#include "lib/machine/nvml.h"
#include "lib/machine/nvml_abi.h"

namespace feedrate {

void GpuWatch::Mean::Add(double value) {
  sum += value;
  most = std::max(most, value);
  ++count;
}

std::optional<double> GpuWatch::Mean::value() const {
  if (count == 0) return std::nullopt;
  return sum / count;
}

GpuWatch::GpuWatch(std::unique_ptr<Nvml> nvml, NvmlDevice device,
                   std::chrono::milliseconds interval)
    : nvml_(std::move(nvml)),
      device_(device),
      interval_(interval),
      thread_([this] { Run(); }) {}

GpuWatch::~GpuWatch() { Stop(); }

absl::StatusOr<std::unique_ptr<GpuWatch>> GpuWatch::Start(
    const std::vector<std::string>& libraries, unsigned index,
    std::chrono::milliseconds interval) {
  for (const std::string& library : libraries) {
    absl::StatusOr<std::unique_ptr<Nvml>> nvml = Nvml::Load(library);
    if (absl::IsNotFound(nvml.status())) continue;
    RETURN_IF_ERROR(nvml.status());
    NvmlDevice device = nullptr;
    const NvmlReturn code = (*nvml)->device_get_handle_by_index(index, &device);
    if (code != 0) {
      return absl::NotFoundError(
          absl::StrCat("NVIDIA's management library finds no GPU ", index, ": ",
                       (*nvml)->ErrorText(code)));
    }
    return absl::WrapUnique(new GpuWatch(*std::move(nvml), device, interval));
  }
  return absl::NotFoundError("NVIDIA's management library is not here");
}

void GpuWatch::ReadEngine(NvmlDeviceGetEngineUtilizationFn read, Mean* mean) {
  unsigned percent = 0;
  unsigned period_us = 0;
  if (read == nullptr || read(device_, &percent, &period_us) != 0) return;
  mean->Add(percent / 100.0);
}

void GpuWatch::Read() {
  NvmlUtilization rates = {};
  if (nvml_->device_get_utilization_rates != nullptr &&
      nvml_->device_get_utilization_rates(device_, &rates) == 0) {
    busy_.Add(rates.gpu / 100.0);
    memory_busy_.Add(rates.memory / 100.0);
  }
  ReadEngine(nvml_->device_get_decoder_utilization, &decoder_busy_);
  ReadEngine(nvml_->device_get_jpg_utilization, &jpeg_busy_);
  NvmlMemory memory = {};
  if (nvml_->device_get_memory_info(device_, &memory) == 0) {
    memory_peak_bytes_ = std::max(memory_peak_bytes_.value_or(0),
                                  static_cast<int64_t>(memory.used));
  }
  ++samples_;
}

// The first reading comes after an interval: what the driver tells is about the
// time before it.
void GpuWatch::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopped_.wait_for(lock, interval_, [this] { return stop_; })) {
    lock.unlock();
    Read();
    lock.lock();
  }
}

GpuUsage GpuWatch::Stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  stopped_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
    // It was over before the first one.
    if (samples_ == 0) Read();
  }
  GpuUsage use;
  use.samples = samples_;
  use.busy = busy_.value();
  if (busy_.count > 0) use.busy_peak = busy_.most;
  use.memory_busy = memory_busy_.value();
  use.decoder_busy = decoder_busy_.value();
  use.jpeg_busy = jpeg_busy_.value();
  use.memory_peak_bytes = memory_peak_bytes_;
  return use;
}

std::optional<unsigned> FirstVisibleGpu(const char* visible_devices) {
  if (visible_devices == nullptr) return 0;
  const absl::string_view all = visible_devices;
  unsigned index = 0;
  if (!absl::SimpleAtoi(all.substr(0, all.find(',')), &index)) {
    return std::nullopt;
  }
  return index;
}

}  // namespace feedrate
