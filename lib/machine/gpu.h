// The NVIDIA GPUs of a machine: what they are, how fast they run and how busy
// they are.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/machine/nvml_abi.h"

namespace feedrate {

// NVIDIA's management library, loaded at run time. Private to gpu.cc.
class Nvml;

struct GpuInfo {
  // Such as `NVIDIA H200`.
  std::string name;
  int64_t memory_bytes = 0;
  // Compute capability, such as `9.0`. Empty if not readable.
  std::string compute_capability;
  // Absent if not readable.
  std::optional<double> power_limit_w;
  // Whether memory corrects its errors, which takes time, and whether the GPU
  // is divided (MIG). Absent if it can do neither, or does not say.
  std::optional<bool> ecc;
  std::optional<bool> mig;
};

struct GpuSystem {
  // All GPUs of the machine in NVML's order, which is that of the PCI bus.
  // Ignores CUDA_VISIBLE_DEVICES.
  std::vector<GpuInfo> gpus;
  // Version of the kernel driver, such as `580.65.06`. Empty if there is none.
  std::string driver;
  // Highest CUDA version that the driver supports, such as `13.0`. Empty if
  // there is none.
  std::string cuda;
  // Why GPUs that should exist cannot be described. Empty if all is well, or if
  // the machine does not have NVIDIA's library.
  std::string problem;
};

// Returns the default places of NVIDIA's management library: what the dynamic
// loader finds, then where containers and WSL mount the driver.
std::vector<std::string> NvmlLibraries();

// Reads all GPUs through the first of `libraries` that can be loaded. Takes a
// few milliseconds if there is a GPU.
GpuSystem ReadGpus(const std::vector<std::string>& libraries);

// Work of other processes on a GPU.
struct GpuOthers {
  // Whether this process, or one below it, has memory on it.
  bool is_used_by_us = false;
  int64_t processes = 0;
  // Share of the time in which their kernels ran, 0 to 1, as the driver
  // estimates it.
  double busy = 0;
};

// The current clocks of one GPU, and what limits them. A reading takes some
// microseconds, in a virtual machine two milliseconds, none of them on the GPU.
class GpuClock {
 public:
  struct Reading {
    // Clock of the GPU's processors.
    int64_t mhz = 0;
    // Why the clock is not higher, see ThrottleWords.
    uint64_t throttle_reasons = 0;
    // Absent if the driver does not say.
    std::optional<int64_t> memory_mhz;
    std::optional<int64_t> temperature_c;
    std::optional<double> power_limit_w;
  };

  // Opens the GPU at `pci_bus_id` (in CUDA's format), or the first GPU if it is
  // empty, through the first of `libraries` (see NvmlLibraries) that can be
  // loaded.
  static absl::StatusOr<std::unique_ptr<GpuClock>> Open(
      const std::vector<std::string>& libraries, const std::string& pci_bus_id);
  // The same for GPU number `index` of the machine.
  static absl::StatusOr<std::unique_ptr<GpuClock>> OpenAt(
      const std::vector<std::string>& libraries, unsigned index);
  ~GpuClock();

  // The highest clock that it may run at; 0 if the driver does not say.
  int64_t max_mhz() const { return max_mhz_; }
  // Returns nullopt if it cannot be read.
  std::optional<Reading> Read() const;
  // Who else has worked on it since `since_us` (microseconds since 1970), give
  // or take the driver's steps of up to a second: living processes that are
  // neither this one nor below it. Returns nullopt if the driver does not say,
  // or counts processes by other numbers than /proc, as in most containers.
  std::optional<GpuOthers> OthersSince(int64_t since_us) const;

 private:
  GpuClock(std::unique_ptr<Nvml> nvml, NvmlDevice device);

  const std::unique_ptr<Nvml> nvml_;
  const NvmlDevice device_;
  int64_t max_mhz_ = 0;
};

// Energy that one GPU has used.
class GpuEnergy {
 public:
  // GPU number `index` of the machine, through the first of `libraries` (see
  // NvmlLibraries) that can be loaded.
  static absl::StatusOr<std::unique_ptr<GpuEnergy>> Open(
      const std::vector<std::string>& libraries, unsigned index);
  // The same by `pci_bus_id`, in CUDA's format.
  static absl::StatusOr<std::unique_ptr<GpuEnergy>> OpenAt(
      const std::vector<std::string>& libraries, const std::string& pci_bus_id);
  ~GpuEnergy();

  // Joules since the driver was loaded. The driver updates the value every 20
  // to 100 ms. Returns nullopt if it does not count them.
  std::optional<double> Joules() const;

 private:
  GpuEnergy(std::unique_ptr<Nvml> nvml, NvmlDevice device);

  const std::unique_ptr<Nvml> nvml_;
  const NvmlDevice device_;
};

// Keeps the processors of one GPU at one clock until it is destroyed. A process
// that is killed leaves the clock locked: `nvidia-smi -rgc` unlocks it.
class GpuClockLock {
 public:
  // Locks GPU number `index` at `mhz`; 0 means the highest clock. The error
  // says what is missing, usually root.
  static absl::StatusOr<std::unique_ptr<GpuClockLock>> Lock(
      const std::vector<std::string>& libraries, unsigned index, int64_t mhz);
  ~GpuClockLock();

  int64_t mhz() const { return mhz_; }

 private:
  GpuClockLock(std::unique_ptr<Nvml> nvml, NvmlDevice device, int64_t mhz);

  const std::unique_ptr<Nvml> nvml_;
  const NvmlDevice device_;
  const int64_t mhz_;
};

// Names of NVML's throttle bits, such as `sw_power_cap`, lowest bit first. A
// GPU that is idle, or runs at a requested clock, is not throttled: those bits
// have no names.
std::vector<std::string> ThrottleWords(uint64_t reasons);

// How busy a GPU and its engines were. Means over readings; absent if the
// driver does not say. Fractions are 0 to 1; the driver averages each over the
// 20 ms to 1 s before a reading.
struct GpuUsage {
  int samples = 0;
  // Fraction of time in which a kernel ran: mean and maximum.
  std::optional<double> busy;
  std::optional<double> busy_peak;
  // Fraction of time in which device memory was read or written.
  std::optional<double> memory_busy;
  // Fraction of time in which the video decoder and the JPEG engines worked.
  std::optional<double> decoder_busy;
  std::optional<double> jpeg_busy;
  // Peak memory allocated by all programs together.
  std::optional<int64_t> memory_peak_bytes;
};

// Samples GpuUsage in a background thread from Start to Stop.
class GpuWatch {
 public:
  // Watches GPU number `index` of the machine through the first of `libraries`
  // (see NvmlLibraries) that can be loaded.
  static absl::StatusOr<std::unique_ptr<GpuWatch>> Start(
      const std::vector<std::string>& libraries, unsigned index,
      std::chrono::milliseconds interval = std::chrono::milliseconds(50));
  ~GpuWatch();
  GpuWatch(const GpuWatch&) = delete;
  GpuWatch& operator=(const GpuWatch&) = delete;

  // Stops the thread. The result has at least one reading.
  GpuUsage Stop();

 private:
  // Mean and maximum of one kind of reading.
  struct Mean {
    double sum = 0;
    double most = 0;
    int count = 0;
    void Add(double value);
    std::optional<double> value() const;
  };

  GpuWatch(std::unique_ptr<Nvml> nvml, NvmlDevice device,
           std::chrono::milliseconds interval);
  void Run();
  void Read();
  void ReadEngine(NvmlDeviceGetEngineUtilizationFn read, Mean* mean);

  const std::unique_ptr<Nvml> nvml_;
  const NvmlDevice device_;
  const std::chrono::milliseconds interval_;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;
  // Used only by the thread until it has ended.
  int samples_ = 0;
  Mean busy_;
  Mean memory_busy_;
  Mean decoder_busy_;
  Mean jpeg_busy_;
  std::optional<int64_t> memory_peak_bytes_;
  std::thread thread_;
};

}  // namespace feedrate
