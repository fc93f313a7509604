// feedrate's own loader as a library to measure.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/adapters/worker/adapter.h"
#include "lib/loader/loader.h"
#include "lib/loader/read_ahead/read_ahead.h"
#include "lib/loader/source.h"

namespace feedrate {

// Recipes are those of the library opencv: a spec has its native_op and params.
class NativeAdapter : public LoaderAdapter {
 public:
  std::string library() const override { return "native"; }
  // Version of the linked OpenCV, which does the transforms.
  std::string version() const override;
  int threads() const override { return threads_; }
  absl::StatusOr<std::unique_ptr<PreparedLoader>> PrepareLoader(
      const PrepareCommand& spec, const LoaderInput& input) override;
  absl::StatusOr<std::unique_ptr<PreparedLoader>> PrepareMixture(
      const PrepareCommand& spec,
      const std::vector<MixtureSource>& sources) override;

 private:
  int threads_ = 1;
};

// Loader options for a job. InvalidArgument names what is not understood.
// REQUIRES: spec.loader is set and checked.
absl::StatusOr<LoaderOptions> NativeOptions(const PrepareCommand& spec);

// Settings that only this loader knows, all optional:
//   read_ahead=inline|threads|io_uring|auto, read_threads=N, read_depth=N
//   access=read|mmap: for files that are read inline or by threads
//   scaled_decode=true|false
//   jpeg_index=true|false: one in the user's cache; see JpegIndex
//   connections=N, range_bytes=N: for a store, instead of the run's
// InvalidArgument names an unknown setting, or one with an invalid value.
struct NativeSettings {
  ReadAheadOptions read_ahead;
  FileAccess access = FileAccess::kRead;
  bool scaled_decode = false;
  bool jpeg_index = false;
  int connections = 0;      // 0: the run's value.
  int64_t range_bytes = 0;  // 0: the run's value.
};
absl::StatusOr<NativeSettings> ParseNativeSettings(
    const std::map<std::string, std::string>& settings);

// The source that the spec's `source` names. `input` must outlive the result.
absl::StatusOr<std::unique_ptr<Source>> NativeSource(const LoaderSpec& spec,
                                                     const LoaderInput& input);

// Environment variable: seconds that Stop waits before it does anything. For
// tests of how a runner handles a teardown that hangs.
inline constexpr char kTeardownDelayVariable[] = "FEEDRATE_TEARDOWN_DELAY_S";

// feedrate's own mixture loader as a library to measure. An epoch leaves
// threads and files open after the last batch; Stop closes them. REQUIRES:
// spec.mixture is set and checked. `sources` must outlive the result.
absl::StatusOr<std::unique_ptr<PreparedLoader>> PrepareNativeMixture(
    const PrepareCommand& spec, const std::vector<MixtureSource>& sources);

}  // namespace feedrate
