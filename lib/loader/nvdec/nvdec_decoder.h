// NVDEC as a decoder of clips, timed on the device.
#ifndef FEEDRATE_LIB_LOADER_NVDEC_NVDEC_DECODER_H_
#define FEEDRATE_LIB_LOADER_NVDEC_NVDEC_DECODER_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/adapters/worker/adapter.h"
#include "lib/worker/source_list.h"

namespace feedrate {

// Each call opens a file, lets the engine decode the frames of its clip and
// what they need, and converts them to RGB, uint8 THWC, in device memory; the
// session goes on from file to file. `files` outlive it. Unavailable in one
// line where there is no engine.
absl::StatusOr<std::unique_ptr<PreparedTransform>> MakeNvdecDecoder(
    const std::vector<SourceFile>& files);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_NVDEC_NVDEC_DECODER_H_
