#include "lib/runner/device_limit.h"

#include <algorithm>
#include <optional>
#include <string>

#include "lib/records/records.pb.h"
#include "lib/worker/loader_message.h"

namespace feedrate {
namespace {

Limit Named(const std::string& name, double throughput) {
  Limit limit;
  limit.set_name(name);
  limit.set_throughput(throughput);
  return limit;
}

std::optional<Limit> DecodeLimit(const DeviceLimitInput& input) {
  const double engines = input.device.engine_items_per_s;
  if (!input.cpu_items_per_s.has_value()) return std::nullopt;
  const double cpu = *input.cpu_items_per_s;
  if (engines > 0 && cpu > 0) {
    return Named("jpeg_decode_cpu_and_engine", cpu + engines);
  }
  if (engines > 0) return Named("jpeg_decode_engine", engines);
  if (cpu > 0) return Named("jpeg_decode", cpu);
  return std::nullopt;
}

}  // namespace

std::optional<Limit> LowestDeviceLimit(const DeviceLimitInput& input) {
  std::optional<Limit> lowest = DecodeLimit(input);
  if (input.item_bytes <= 0 || input.device.copy_bytes_per_s <= 0) {
    return lowest;
  }
  const double copies = input.device.copy_bytes_per_s / input.item_bytes;
  if (!lowest.has_value() || copies < lowest->throughput()) {
    lowest = Named("host_to_device_copy", copies);
  }
  return lowest;
}

double LeastItemBytes(const LoaderSpec& spec, bool copies_samples,
                      double file_bytes, const DeviceLimits& device) {
  const double pixels =
      static_cast<double>(spec.channels) * spec.crop * spec.crop;
  if (copies_samples) return pixels * sizeof(float);
  const bool files = device.engine_items_per_s > 0 && file_bytes > 0;
  return files ? std::min(pixels, file_bytes) : pixels;
}

}  // namespace feedrate
