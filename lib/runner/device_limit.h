// What no loader to a GPU can beat.
#ifndef FEEDRATE_LIB_RUNNER_DEVICE_LIMIT_H_
#define FEEDRATE_LIB_RUNNER_DEVICE_LIMIT_H_

#include <optional>

#include "lib/records/records.pb.h"
#include "lib/worker/loader_message.h"

namespace feedrate {

struct DeviceLimitInput {
  // What the workers' processors decode. Absent: not known.
  std::optional<double> cpu_items_per_s;
  DeviceLimits device;
  // That must go to the device for each item, at least. 0: not known.
  double item_bytes = 0;
};

// The lowest of what decodes, CPU and engines together, and of the copy to the
// device, with its name. Nothing where neither is known; engines alone say
// nothing where a CPU that nobody measured helps them.
std::optional<Limit> LowestDeviceLimit(const DeviceLimitInput& input);

// Bytes of an item that must go to the device: of `native` the sample itself,
// of `cuda` the pixels of the crop, or the file where it is smaller and engines
// decode it.
double LeastItemBytes(const LoaderSpec& spec, bool copies_samples,
                      double file_bytes, const DeviceLimits& device);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_DEVICE_LIMIT_H_
