// Single frames of clips, seen as images.
#ifndef FEEDRATE_LIB_RUNNER_CLIP_FRAMES_H_
#define FEEDRATE_LIB_RUNNER_CLIP_FRAMES_H_

#include <cstdint>

#include "lib/media/corpus.h"
#include "lib/media/image.h"
#include "lib/reference/compare.h"
#include "lib/worker/child.h"

namespace feedrate {

// Frame `frame` of an item; the item itself where it is an image. REQUIRES:
// uint8, HWC, and there is one.
ImageView FrameOfItem(const Corpus& corpus, int64_t item, int frame);

// Frames of an output: 1 for an image.
int FramesOfOutput(const ChildOutput& output);
// One of them, as a view.
OutputView FrameOfOutput(const ChildOutput& output, int frame);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_CLIP_FRAMES_H_
