// What a device under test has to offer to be timed.
#ifndef FEEDRATE_LIB_ADAPTERS_WORKER_DEVICE_PROBE_H_
#define FEEDRATE_LIB_ADAPTERS_WORKER_DEVICE_PROBE_H_

#include <cstdint>
#include <string>

namespace feedrate {

// One device, on the stream that a transform enqueues its work on. Methods may
// throw what the library throws. Not thread-safe.
class DeviceProbe {
 public:
  struct Memory {
    // Most in use, and most that was taken from the device, since ResetPeaks.
    int64_t peak_allocated_bytes = 0;
    int64_t peak_reserved_bytes = 0;
  };

  virtual ~DeviceProbe() = default;

  // Leaves nothing of inputs and outputs in the device's caches, and waits.
  virtual void Flush() = 0;
  // Marks the stream.
  virtual void Begin() = 0;
  // Marks it again and waits for that; the seconds between the marks, by the
  // device's own clock.
  virtual double End() = 0;

  virtual void ResetPeaks() = 0;
  virtual Memory Peaks() = 0;

  // Bytes read plus bytes written a second by a copy within its memory.
  virtual double CopyBytesPerSecond() = 0;
  // As NVML knows it. Empty: it has no clock to be read.
  virtual std::string pci_bus_id() const = 0;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_WORKER_DEVICE_PROBE_H_
