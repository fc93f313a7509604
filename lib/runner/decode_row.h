// What the rows of decoders have besides those of transforms.
#ifndef FEEDRATE_LIB_RUNNER_DECODE_ROW_H_
#define FEEDRATE_LIB_RUNNER_DECODE_ROW_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lib/records/records.pb.h"
#include "lib/runner/input_corpora.h"
#include "lib/runner/run_context.h"
#include "lib/worker/child.h"

namespace feedrate {

bool IsDecodeJob(const Job& job);

// Lets `child`, which has prepared the job's decoder, show its first clips, and
// compares them with the reference. Fails as the child does. `decode` is filled
// in as far as it is known before anything is timed.
absl::StatusOr<Equivalence> CheckDecoder(const RunContext& context,
                                         const Job& job,
                                         const InputCorpora::Input& input,
                                         absl::Duration limit,
                                         MeasuredChild* child, Decode* decode);

// What an engine of a GPU has to do with a row.
struct EngineUse {
  // Whether it decodes at all.
  bool decodes = false;
  // Clips a second that it does alone. 0: nobody has measured it.
  double clips_per_s = 0;
  // Frames that the CPU decoded in its place.
  int64_t cpu_frames = 0;
};

// Whether clips are decoded on a GPU.
bool OnEngine(const Job& job);

// Adds `decode` to a row that has its timing, and the limit: what the engine
// does, or FFmpeg on the CPU where the program can tell it. Frames that an
// engine left to the CPU are counted and labelled.
void AddDecode(const RunContext& context, const InputCorpora::Input& input,
               const Decode& decode, const EngineUse& engine, Row* row);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_DECODE_ROW_H_
