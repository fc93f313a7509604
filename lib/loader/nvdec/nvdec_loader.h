// Videos to batches of clips on the device: NVDEC decodes, one launch a clip
// does the rest.
#ifndef FEEDRATE_LIB_LOADER_NVDEC_NVDEC_LOADER_H_
#define FEEDRATE_LIB_LOADER_NVDEC_NVDEC_LOADER_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/adapters/worker/adapter.h"
#include "lib/worker/source_list.h"

namespace feedrate {

// As many threads as `workers`, at least one, each with a session of its own.
// Batches are N, T, C, crop, crop of float32, in order. `files` outlive it.
// InvalidArgument names what it does not do, Unavailable that there is no
// engine.
absl::StatusOr<std::unique_ptr<PreparedLoader>> MakeNvdecLoader(
    const TransformSpec& spec, const std::vector<SourceFile>& files);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_NVDEC_NVDEC_LOADER_H_
