// A loader of lib/loader as the protocol of workers has it.
#pragma once

#include <memory>

#include "lib/adapters/worker/adapter.h"
#include "lib/loader/loader.h"
#include "lib/records/worker.pb.h"

namespace feedrate {

// Runs the epochs of `loader`, as the rank that `spec` says. Samples are images
// or, of a source that makes them, clips: frames of floats, one after the
// other, each as the recipe's crop has it.
std::unique_ptr<PreparedLoader> PrepareLoaderOf(std::unique_ptr<Loader> loader,
                                                const LoaderSpec& spec);

}  // namespace feedrate
