// What the engines of the device decode when nothing else is done.
#ifndef FEEDRATE_LIB_LOADER_NVDEC_ENGINE_RATE_H_
#define FEEDRATE_LIB_LOADER_NVDEC_ENGINE_RATE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "lib/worker/source_list.h"

namespace feedrate {

// Clips a second, all threads together, each with a session of its own: frames
// are decoded and dropped, and opening files does not count. Of the first few
// files; the best of two passes.
absl::StatusOr<double> EngineRate(const std::vector<SourceFile>& files,
                                  int threads);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_NVDEC_ENGINE_RATE_H_
