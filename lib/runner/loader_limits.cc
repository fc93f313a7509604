#include "lib/runner/loader_limits.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/adapters/worker/params.h"
#include "lib/base/status_macros.h"
#include "lib/loader/limits.h"
#include "lib/records/records.pb.h"
#include "lib/runner/loader_inputs.h"
#include "lib/worker/loader_message.h"

namespace feedrate {
namespace {

std::optional<Limit> MeasureDecode(const LoaderInputs::Input& input,
                                   const LimitOptions& options) {
  if (input.source != "files") return std::nullopt;
  const absl::StatusOr<double> throughput = DecodeLimit(*input.paths, options);
  // What is no JPEG has no such limit.
  if (!throughput.ok()) return std::nullopt;
  Limit limit;
  limit.set_name("jpeg_decode");
  limit.set_throughput(*throughput);
  return limit;
}

std::optional<Limit> MeasureCopy(const LoaderSpec& spec,
                                 const LoaderInputs::Input& input,
                                 const LimitOptions& options) {
  const std::vector<ClipFile>* const clips = input.decoded.files;
  const size_t frames = clips == nullptr ? 1 : clips->front().frames.size();
  const int64_t item_bytes = int64_t{4} * spec.channels * spec.crop *
                             spec.crop * static_cast<int64_t>(frames);
  Limit limit;
  limit.set_name("copy");
  limit.set_throughput(
      BatchCopyLimit(item_bytes, static_cast<int>(spec.batch_size), options));
  return limit;
}

}  // namespace

std::optional<Limit> LoaderLimits::MeasureClips(
    const std::vector<ClipFile>& files, int threads) const {
  if (clips_ == nullptr) return std::nullopt;
  const absl::StatusOr<double> throughput = clips_(files, threads);
  if (!throughput.ok()) return std::nullopt;
  Limit limit;
  limit.set_name("libav");
  limit.set_throughput(*throughput);
  return limit;
}

std::optional<Limit> LoaderLimits::Of(
    const LoaderSpec& spec, const LoaderInputs::Input& input, int processors,
    const std::optional<WindowShape>& resized) {
  const bool in_memory = input.source == "corpus";
  LimitOptions options;
  options.threads = std::clamp(spec.workers, 1, std::max(processors, 1));
  options.crop = spec.crop;
  options.centred = spec.crop_position == "center";
  options.resized = resized;
  std::string key = absl::StrCat(
      in_memory ? -1 : input.fd, " ", options.threads, " ", spec.crop, " ",
      options.centred, " ", spec.channels, " ", spec.batch_size);
  if (resized.has_value()) {
    absl::StrAppend(&key, " ", resized->area.low, " ", resized->area.high, " ",
                    resized->ratio.low, " ", resized->ratio.high);
  }
  const auto [entry, is_new] = known_.emplace(key, std::nullopt);
  if (is_new) {
    const std::vector<ClipFile>* const clips = input.decoded.files;
    entry->second = in_memory          ? MeasureCopy(spec, input, options)
                    : clips != nullptr ? MeasureClips(*clips, options.threads)
                                       : MeasureDecode(input, options);
  }
  return entry->second;
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

double LoaderLimits::CopyBytesPerSecond() const {
  double fastest = 0;
  for (const auto& [key, limits] : known_devices_) {
    fastest = std::max(fastest, limits.copy_bytes_per_s);
  }
  return fastest;
}

void LoaderLimits::NoteEngine(int fd, int sessions, double clips_per_s) {
  if (clips_per_s > 0) known_engines_[{fd, sessions}] = clips_per_s;
}

double LoaderLimits::Engine(int fd, int sessions) const {
  const auto known = known_engines_.find({fd, sessions});
  return known == known_engines_.end() ? 0 : known->second;
}

}  // namespace feedrate
