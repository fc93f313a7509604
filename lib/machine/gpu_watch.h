// How busy a GPU and its engines are while something runs.
#ifndef FEEDRATE_LIB_MACHINE_GPU_WATCH_H_
#define FEEDRATE_LIB_MACHINE_GPU_WATCH_H_

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
#include "lib/machine/nvml.h"

namespace feedrate {

// Means over readings; absent: the driver does not tell. Shares are 0 to 1, as
// the driver averages them, over 20 ms to a second before each reading.
struct GpuUsage {
  int samples = 0;
  // In which a kernel ran, mean and most.
  std::optional<double> busy;
  std::optional<double> busy_peak;
  // In which device memory was read or written.
  std::optional<double> memory_busy;
  // In which the video decoder worked, and the engines that decode JPEG.
  std::optional<double> decoder_busy;
  std::optional<double> jpeg_busy;
  // Most memory that all programs together had taken.
  std::optional<int64_t> memory_peak_bytes;
};

// Reads now and then, from a thread of its own, from Start to Stop.
class GpuWatch {
 public:
  // Of GPU number `index` of the machine. Asks the first of `libraries`
  // (NvmlLibraries of gpu.h) that can be loaded.
  static absl::StatusOr<std::unique_ptr<GpuWatch>> Start(
      const std::vector<std::string>& libraries, unsigned index,
      std::chrono::milliseconds interval = std::chrono::milliseconds(50));
  ~GpuWatch();
  GpuWatch(const GpuWatch&) = delete;
  GpuWatch& operator=(const GpuWatch&) = delete;

  // Ends the watch. There is at least one reading.
  GpuUsage Stop();

 private:
  // Of one kind of readings.
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
  // Of the thread, until it has ended.
  int samples_ = 0;
  Mean busy_;
  Mean memory_busy_;
  Mean decoder_busy_;
  Mean jpeg_busy_;
  std::optional<int64_t> memory_peak_bytes_;
  std::thread thread_;
};

// The number of the first GPU that CUDA_VISIBLE_DEVICES, whose value is given,
// leaves to a program: 0 without a value. Absent where it names none, or one by
// another name than its number.
std::optional<unsigned> FirstVisibleGpu(const char* visible_devices);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MACHINE_GPU_WATCH_H_
