// Upper limits for the loaders of a run.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "lib/media/video/clips.h"
#include "lib/ops/params.h"
#include "lib/records/job.pb.h"
#include "lib/records/row.pb.h"
#include "lib/records/worker.pb.h"
#include "lib/runner/loader/loader_job.h"
#include "lib/worker/message.h"

namespace feedrate {

// Measures each limit once, and once more when a row exceeds it. Not
// thread-safe.
class LoaderLimits {
 public:
  // `clips` may be null when no job has clips.
  explicit LoaderLimits(ClipLimit clips) : clips_(std::move(clips)) {}

  // For scopes that decode: pure decoding of the pixels that the crop needs, or
  // of the clips' frames, on as many processors as there are workers. For the
  // memory scope: a copy of the batch's bytes. Empty when the data is not JPEG.
  // `reached` is the throughput of the row; `resized` is the recipe's own crop
  // if that resizes.
  std::optional<Limit> Of(
      const LoaderSpec& spec, const LoaderInputs::Input& input, int processors,
      double reached, const std::optional<WindowShape>& resized = std::nullopt);

  // The most that a GPU could reach, for `key`. Calls `measure` the first time.
  absl::StatusOr<DeviceLimits> OfDevice(
      const std::string& key,
      const std::function<absl::StatusOr<DeviceLimits>()>& measure);

  // OfDevice for `job`. When that fails, `warn` gets the reason and the result
  // is empty: a row without a limit is better than no row. Fails only with
  // Cancelled.
  absl::StatusOr<std::optional<DeviceLimits>> OfDeviceOrWarn(
      const std::string& key, const Job& job,
      const std::function<void(const std::string&)>& warn,
      const std::function<absl::StatusOr<DeviceLimits>()>& measure);

  // The fastest copy to a device that OfDevice has measured; 0 means none.
  double CopyBytesPerSecond() const;

 private:
  const ClipLimit clips_;
  // Keyed by descriptor of the input, threads, and what is measured.
  std::map<std::string, std::optional<double>> known_;
  std::map<std::string, DeviceLimits> known_devices_;
};

// False where decoding is other work than that of the limits: at a fraction of
// the size, or by threads of the GPU.
bool HasLimit(const LoaderSpec& spec, bool is_on_gpu, bool is_resized);

// What limits a loader to a GPU.

struct DeviceLimitInput {
  // Decoding speed of the workers' processors, if known.
  std::optional<double> cpu_items_per_s;
  DeviceLimits device;
  // Least bytes per item that must be copied to the device. 0 means unknown.
  double item_bytes = 0;
};

// The lower of decoding, by CPU and engines together, and copying to the
// device, with its name. Empty when neither is known. The speed of the engines
// says nothing when a CPU of unknown speed helps them.
std::optional<Limit> LowestDeviceLimit(const DeviceLimitInput& input);

// Bytes per item that must be copied to the device: for `native` the sample
// itself; for `cuda` the pixels of the crop, or the file when that is smaller
// and engines decode it.
double LeastItemBytes(const LoaderSpec& spec, bool copies_samples,
                      double file_bytes, const DeviceLimits& device);

// The limit of a loader on a GPU whose decoder nobody can measure: files or
// pixels must be copied to the device, at `copy_bytes_per_s`, which one of our
// loaders has measured; 0 means that none has.
std::optional<Limit> LimitOfPeer(const LoaderSpec& spec, double file_bytes,
                                 double copy_bytes_per_s);

}  // namespace feedrate
