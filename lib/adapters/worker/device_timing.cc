#include "lib/adapters/worker/device_timing.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "lib/adapters/worker/device_probe.h"

namespace feedrate {

TimeReply TimeOnDevice(const TimingPlan& plan, bool cold,
                       PreparedTransform* transform,
                       const ReadClock& read_clock) {
  DeviceProbe* const probe = transform->device();
  TimeReply reply;
  DeviceReply& device = reply.device.emplace();
  probe->ResetPeaks();
  const int64_t cpu_frames = transform->CpuFrames();
  const int64_t start = MonotonicNs();
  int64_t item = plan.first % plan.num_items;
  while (reply.items < plan.count) {
    const int64_t calls = std::min(plan.chunk, plan.count - reply.items);
    if (cold) probe->Flush();
    probe->Begin();
    transform->RunChunk(item, calls, plan.num_items);
    reply.samples_s.push_back(probe->End());
    const std::optional<GpuClock::Reading> clock =
        read_clock == nullptr ? std::nullopt : read_clock();
    if (clock.has_value()) {
      device.clocks_mhz.push_back(clock->mhz);
      device.throttle_reasons |= clock->throttle_reasons;
    }
    for (int64_t i = 0; i < calls; ++i) {
      const DeviceBytes bytes = transform->BytesOf((item + i) % plan.num_items);
      device.bytes_in += bytes.in;
      device.bytes_out += bytes.out;
    }
    reply.items += calls;
    item = (item + calls) % plan.num_items;
    if (MonotonicNs() - start > plan.limit_ns) break;
  }
  // A clock that answers now and then says nothing about the other samples.
  if (device.clocks_mhz.size() != reply.samples_s.size()) {
    device.clocks_mhz.clear();
  }
  const DeviceProbe::Memory peaks = probe->Peaks();
  device.peak_allocated_bytes = peaks.peak_allocated_bytes;
  device.peak_reserved_bytes = peaks.peak_reserved_bytes;
  device.cpu_frames = transform->CpuFrames() - cpu_frames;
  return reply;
}

}  // namespace feedrate
