// Videos to batches of clips on the device: NVDEC decodes, and one kernel
// launch per clip does the rest.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/adapters/worker/adapter.h"
#include "lib/worker/source_list.h"

namespace feedrate {

// Uses `workers` threads, at least one, each with its own decoder session.
// Batches are N, T, C, crop, crop of float32, in order. `files` must outlive
// the result. InvalidArgument names what it does not support; Unavailable if
// there is no engine.
absl::StatusOr<std::unique_ptr<PreparedLoader>> MakeNvdecLoader(
    const PrepareCommand& spec, const std::vector<SourceFile>& files);

// Maximum rate of the device's engines: clips per second of all threads
// together, each with its own session. Frames are decoded and dropped, and
// opening files does not count. Uses the first few files; the best of two
// passes.
absl::StatusOr<double> EngineRate(const std::vector<SourceFile>& files,
                                  int threads);

}  // namespace feedrate
