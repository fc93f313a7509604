// From what the runner asks for to the options of the loader.
#ifndef FEEDRATE_LIB_LOADER_WORKER_NATIVE_OPTIONS_H_
#define FEEDRATE_LIB_LOADER_WORKER_NATIVE_OPTIONS_H_

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "lib/adapters/worker/adapter.h"
#include "lib/loader/file_source.h"
#include "lib/loader/loader.h"
#include "lib/loader/read_ahead.h"
#include "lib/loader/source.h"

namespace feedrate {

// InvalidArgument names what is not understood. REQUIRES: spec.loader, checked.
absl::StatusOr<LoaderOptions> NativeOptions(const TransformSpec& spec);

// Settings of a sweep that only this loader knows, all optional:
//   read_ahead=inline|threads|io_uring|auto, read_threads=N, read_depth=N
//   access=read|mmap: of files that are read inline or by threads
//   scaled_decode=true|false
//   connections=N, range_bytes=N: of a store, instead of the run's
// InvalidArgument names one that is unknown, or has no such value.
struct NativeSettings {
  ReadAheadOptions read_ahead;
  FileAccess access = FileAccess::kRead;
  bool scaled_decode = false;
  int connections = 0;      // 0: as the run says.
  int64_t range_bytes = 0;  // The same.
};
absl::StatusOr<NativeSettings> ParseNativeSettings(
    const std::map<std::string, std::string>& settings);

// What the spec's `source` says. `input` outlives the result.
absl::StatusOr<std::unique_ptr<Source>> NativeSource(const LoaderSpec& spec,
                                                     const LoaderInput& input);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_WORKER_NATIVE_OPTIONS_H_
