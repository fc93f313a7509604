// The loop around calls on a device.
//
// A sample is what lies between two marks on the device's stream. Calls are
// enqueued as fast as the library can, so a sample holds the device's work, or
// what the host takes to start it where that is longer. The marks, the clock of
// the device and the flush of its caches are outside.
#ifndef FEEDRATE_LIB_ADAPTERS_WORKER_DEVICE_TIMING_H_
#define FEEDRATE_LIB_ADAPTERS_WORKER_DEVICE_TIMING_H_

#include <functional>
#include <optional>

#include "lib/adapters/worker/adapter.h"
#include "lib/adapters/worker/timing_loop.h"
#include "lib/machine/gpu.h"
#include "lib/worker/message.h"

namespace feedrate {

// Reads the device's clock; may be null.
using ReadClock = std::function<std::optional<GpuClock::Reading>()>;

// Calls transform->RunChunk by plan. `cold`: the caches are flushed before each
// sample. REQUIRES: transform->device() is not null; of the plan as TimeCalls.
TimeReply TimeOnDevice(const TimingPlan& plan, bool cold,
                       PreparedTransform* transform,
                       const ReadClock& read_clock);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_WORKER_DEVICE_TIMING_H_
