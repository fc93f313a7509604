// Images of many channels as images of three, for functions that know no more.
#ifndef FEEDRATE_LIB_ADAPTERS_OPENCV_CHUNKS_H_
#define FEEDRATE_LIB_ADAPTERS_OPENCV_CHUNKS_H_

#include "lib/adapters/opencv/op.h"

namespace feedrate {

// The wrap of configs/transforms/ that asks for it.
inline constexpr char kPerChunk[] = "per 3-channel chunk, concat";

// Applies `op` to each three channels, with the same draws, and joins the
// results. REQUIRES, when called: a number of channels that three divides.
Op PerChunk(Op op);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_OPENCV_CHUNKS_H_
