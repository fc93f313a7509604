// Rows of video decoders: comparison with FFmpeg's frames, and limits.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lib/media/corpus.h"
#include "lib/media/video/clips.h"
#include "lib/records/job.pb.h"
#include "lib/records/row.pb.h"
#include "lib/runner/core/run_context.h"
#include "lib/runner/data/input_corpora.h"
#include "lib/worker/child.h"

namespace feedrate {

bool IsDecodeJob(const Job& job);

// Asks `child`, which has prepared the job's decoder, for its first clips and
// compares them with the reference. Fails as the child does. Sets the fields of
// `decode` that are known before timing.
absl::StatusOr<Equivalence> CheckDecoder(const RunContext& context,
                                         const Job& job,
                                         const InputCorpora::Input& input,
                                         absl::Duration limit,
                                         MeasuredChild* child, Decode* decode);

// How the decoding engine of a GPU is used for a row.
struct EngineUse {
  // Whether the engine decodes.
  bool decodes = false;
  // Clips per second that the engine reaches alone. 0 means not measured.
  double clips_per_s = 0;
  // Frames that the CPU decoded instead.
  int64_t cpu_frames = 0;
};

// Whether clips are decoded on a GPU.
bool OnEngine(const Job& job);

// Adds `decode` to a row that has its timing, and sets the limit: what the
// engine reaches, or FFmpeg on the CPU if the program has it. Frames that the
// engine left to the CPU are counted and labeled.
void AddDecode(const RunContext& context, const InputCorpora::Input& input,
               const Decode& decode, const EngineUse& engine, Row* row);

// Compares the clips that a decoder returned for the first items with those in
// `reference`, which FFmpeg decoded: `exact` when all bytes are equal;
// `equivalent` when every frame has the same size and a PSNR of at least
// `min_psnr_db`; else `different`, naming the first frame that differs. If
// frames carry their number (index_pattern.h), a frame with another number is
// `different` whatever its PSNR. Counts frames in `decode`.
Equivalence CompareClips(const std::vector<ChildOutput>& outputs,
                         const Corpus& reference,
                         const std::vector<ClipFile>& files, double min_psnr_db,
                         Decode* decode);

}  // namespace feedrate
