// Which draws of a mixture come from which seed. The loader and its limit share
// it, so that both mean the same samples.
#ifndef FEEDRATE_LIB_LOADER_MIXTURE_MIXTURE_PLAN_H_
#define FEEDRATE_LIB_LOADER_MIXTURE_MIXTURE_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/loader/mixture/dataset_stream.h"
#include "lib/loader/mixture/mix_order.h"
#include "lib/worker/loader_message.h"

namespace feedrate {

// How the data set with the number `source` is gone through. Metadata, how far
// ahead it is opened and what becomes of faults change no draw, and are the
// caller's.
DatasetStreamOptions PlannedStream(const MixtureSpec& spec, uint64_t seed,
                                   size_t source);

// Data sets of the samples. `weights` are those of the data sets that are left.
MixOrder PlannedOrder(const std::vector<double>& weights,
                      const MixtureSpec& spec, uint64_t seed);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_MIXTURE_MIXTURE_PLAN_H_
