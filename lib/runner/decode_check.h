// Whether a decoder gives the frames that were asked for.
#ifndef FEEDRATE_LIB_RUNNER_DECODE_CHECK_H_
#define FEEDRATE_LIB_RUNNER_DECODE_CHECK_H_

#include <vector>

#include "lib/media/corpus.h"
#include "lib/media/video/clips.h"
#include "lib/records/records.pb.h"
#include "lib/worker/child.h"

namespace feedrate {

// Holds the clips that a decoder gave for the first items against those in
// `reference`, which FFmpeg decoded: `exact` when all bytes are the same,
// `equivalent` when every frame has the same size and a PSNR of at least
// `min_psnr_db`, else `different`, with the first frame that is. Where frames
// carry their number (index_pattern.h), one that shows another is `different`
// whatever its PSNR. Counts them in `decode`.
Equivalence CompareClips(const std::vector<ChildOutput>& outputs,
                         const Corpus& reference,
                         const std::vector<ClipFile>& files, double min_psnr_db,
                         Decode* decode);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_DECODE_CHECK_H_
