// The CPU in the place of a device, so that the way of a device's row can be
// gone without one.
#ifndef FEEDRATE_LIB_ADAPTERS_WORKER_HOST_PROBE_H_
#define FEEDRATE_LIB_ADAPTERS_WORKER_HOST_PROBE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "lib/adapters/worker/device_probe.h"
#include "lib/adapters/worker/timing_loop.h"

namespace feedrate {

class HostProbe : public DeviceProbe {
 public:
  void Flush() override { ++flushes_; }
  void Begin() override { begin_ns_ = MonotonicNs(); }
  double End() override {
    return static_cast<double>(MonotonicNs() - begin_ns_) * 1e-9;
  }
  void ResetPeaks() override {}
  Memory Peaks() override { return {}; }
  double CopyBytesPerSecond() override;
  std::string pci_bus_id() const override { return ""; }

  int64_t flushes() const { return flushes_; }

 private:
  int64_t begin_ns_ = 0;
  int64_t flushes_ = 0;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_WORKER_HOST_PROBE_H_
