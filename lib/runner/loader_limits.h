// What no loader of a run can beat.
#ifndef FEEDRATE_LIB_RUNNER_LOADER_LIMITS_H_
#define FEEDRATE_LIB_RUNNER_LOADER_LIMITS_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/adapters/worker/params.h"
#include "lib/media/video/clips.h"
#include "lib/records/records.pb.h"
#include "lib/runner/loader_inputs.h"
#include "lib/worker/loader_message.h"

namespace feedrate {

// Measures each limit once. Not thread-safe.
class LoaderLimits {
 public:
  // `clips` may be null where no job has any.
  explicit LoaderLimits(ClipLimit clips) : clips_(std::move(clips)) {}

  // Of a scope that decodes: pure decoding of the pixels that the crop needs,
  // or of the clips' frames, on as many processors as there are workers. Of the
  // memory scope: a copy of the batch's bytes. Nothing where the data is no
  // JPEG. `resized`: the recipe's own crop, where it is one that resizes.
  std::optional<Limit> Of(
      const LoaderSpec& spec, const LoaderInputs::Input& input, int processors,
      const std::optional<WindowShape>& resized = std::nullopt);

  // What a GPU could do at most, by `key`: measured by `measure` the first
  // time.
  absl::StatusOr<DeviceLimits> OfDevice(
      const std::string& key,
      const std::function<absl::StatusOr<DeviceLimits>()>& measure);

  // The fastest copy to a device that OfDevice has measured; 0: none.
  double CopyBytesPerSecond() const;

  // Clips a second of the GPU's decoding engine, for the list of files in
  // descriptor `fd` and so many sessions. A decoder that can measure it notes
  // it, for others that decode there; 0: nobody has.
  void NoteEngine(int fd, int sessions, double clips_per_s);
  double Engine(int fd, int sessions) const;

 private:
  std::optional<Limit> MeasureClips(const std::vector<ClipFile>& files,
                                    int threads) const;

  const ClipLimit clips_;
  // By descriptor of the input, threads, and what is measured.
  std::map<std::string, std::optional<Limit>> known_;
  std::map<std::string, DeviceLimits> known_devices_;
  // By descriptor and sessions.
  std::map<std::pair<int, int>, double> known_engines_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_LOADER_LIMITS_H_
