// Decoded images in memory.
#ifndef FEEDRATE_LIB_LOADER_MEMORY_SOURCE_H_
#define FEEDRATE_LIB_LOADER_MEMORY_SOURCE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "lib/loader/source.h"
#include "lib/media/corpus.h"

namespace feedrate {

// The items of a corpus, which outlives the source. InvalidArgument when they
// are not images of bytes, HWC.
absl::StatusOr<std::unique_ptr<Source>> MemorySource(const Corpus& corpus);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_MEMORY_SOURCE_H_
