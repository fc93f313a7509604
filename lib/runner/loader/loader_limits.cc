#include "lib/runner/loader/loader_limits.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/loader/limits.h"
#include "lib/runner/core/rows.h"

namespace feedrate {
namespace {

// Other formats than JPEG have no such limit.
double MeasureDecode(const LoaderInputs::Input& input,
                     const LimitOptions& options) {
  if (input.source != "files") return 0;
  return DecodeLimit(*input.paths, options).value_or(0);
}

double MeasureCopy(const LoaderSpec& spec, const LoaderInputs::Input& input,
                   const LimitOptions& options) {
  const std::vector<ClipFile>* const clips = input.decoded.files;
  const size_t frames = clips == nullptr ? 1 : clips->front().frames.size();
  const int64_t item_bytes = int64_t{4} * spec.channels() * spec.crop() *
                             spec.crop() * static_cast<int64_t>(frames);
  return BatchCopyLimit(item_bytes, static_cast<int>(spec.batch_size()),
                        options);
}

Limit Named(const std::string& name, double throughput) {
  Limit limit;
  limit.set_name(name);
  limit.set_throughput(throughput);
  return limit;
}

}  // namespace

std::optional<Limit> LoaderLimits::Of(
    const LoaderSpec& spec, const LoaderInputs::Input& input, int processors,
    double reached, const std::optional<WindowShape>& resized) {
  const bool in_memory = input.source == "corpus";
  const std::vector<ClipFile>* const clips = input.decoded.files;
  LimitOptions options;
  options.threads = std::clamp(spec.workers(), 1, std::max(processors, 1));
  options.crop = spec.crop();
  options.centered = spec.crop_position() == "center";
  options.resized = resized;
  std::string key = absl::StrCat(
      in_memory ? -1 : input.fd, " ", options.threads, " ", spec.crop(), " ",
      options.centered, " ", spec.channels(), " ", spec.batch_size());
  if (resized.has_value()) {
    absl::StrAppend(&key, " ", resized->area.low, " ", resized->area.high, " ",
                    resized->ratio.low, " ", resized->ratio.high);
  }
  const double limit = LimitFor(
      reached,
      [&] {
        if (in_memory) return MeasureCopy(spec, input, options);
        if (clips == nullptr) return MeasureDecode(input, options);
        return clips_ == nullptr ? 0
                                 : clips_(*clips, options.threads).value_or(0);
      },
      &known_[key]);
  if (limit <= 0) return std::nullopt;
  return Named(in_memory          ? "copy"
               : clips != nullptr ? "libav"
                                  : "jpeg_decode",
               limit);
}

absl::StatusOr<DeviceLimits> LoaderLimits::OfDevice(
    const std::string& key,
    const std::function<absl::StatusOr<DeviceLimits>()>& measure) {
  const auto known = known_devices_.find(key);
  if (known != known_devices_.end()) return known->second;
  ASSIGN_OR_RETURN(const DeviceLimits limits, measure());
  known_devices_.emplace(key, limits);
  return limits;
}

absl::StatusOr<std::optional<DeviceLimits>> LoaderLimits::OfDeviceOrWarn(
    const std::string& key, const Job& job,
    const std::function<void(const std::string&)>& warn,
    const std::function<absl::StatusOr<DeviceLimits>()>& measure) {
  const absl::StatusOr<DeviceLimits> limits = OfDevice(key, measure);
  if (limits.ok()) return std::optional<DeviceLimits>(*limits);
  if (absl::IsCancelled(limits.status())) return limits.status();
  warn(absl::StrCat(job.library(), ", ", job.transform(),
                    ": without a limit: ", limits.status().message()));
  return std::optional<DeviceLimits>();
}

double LoaderLimits::CopyBytesPerSecond() const {
  double fastest = 0;
  for (const auto& [key, limits] : known_devices_) {
    fastest = std::max(fastest, limits.copy_bytes_per_s());
  }
  return fastest;
}

bool HasLimit(const LoaderSpec& spec, bool is_on_gpu, bool is_resized) {
  const auto is_on = [&spec](const char* name) {
    const auto found = spec.settings().find(name);
    return found != spec.settings().end() && found->second == "true";
  };
  const bool gpu_decodes = is_on_gpu && spec.scope() != kCopyScope;
  return !(is_resized && is_on("scaled_decode")) &&
         !(gpu_decodes && is_on("jpeg_index"));
}

namespace {

std::optional<Limit> DeviceDecodeLimit(const DeviceLimitInput& input) {
  const double engines = input.device.engine_items_per_s();
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
  std::optional<Limit> lowest = DeviceDecodeLimit(input);
  if (input.item_bytes <= 0 || input.device.copy_bytes_per_s() <= 0) {
    return lowest;
  }
  const double copies = input.device.copy_bytes_per_s() / input.item_bytes;
  if (!lowest.has_value() || copies < lowest->throughput()) {
    lowest = Named("host_to_device_copy", copies);
  }
  return lowest;
}

double LeastItemBytes(const LoaderSpec& spec, bool copies_samples,
                      double file_bytes, const DeviceLimits& device) {
  const double pixels =
      static_cast<double>(spec.channels()) * spec.crop() * spec.crop();
  if (copies_samples) return pixels * sizeof(float);
  const bool files = device.engine_items_per_s() > 0 && file_bytes > 0;
  return files ? std::min(pixels, file_bytes) : pixels;
}

std::optional<Limit> LimitOfPeer(const LoaderSpec& spec, double file_bytes,
                                 double copy_bytes_per_s) {
  DeviceLimitInput input;
  input.device.set_copy_bytes_per_s(copy_bytes_per_s);
  DeviceLimits with_engines;
  with_engines.set_engine_items_per_s(1);
  input.item_bytes =
      LeastItemBytes(spec, /*copies_samples=*/false, file_bytes, with_engines);
  return LowestDeviceLimit(input);
}

}  // namespace feedrate
