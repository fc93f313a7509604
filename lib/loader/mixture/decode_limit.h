// What no mixture can beat on this machine.
#ifndef FEEDRATE_LIB_LOADER_MIXTURE_DECODE_LIMIT_H_
#define FEEDRATE_LIB_LOADER_MIXTURE_DECODE_LIMIT_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/worker/loader_message.h"

namespace feedrate {

struct MixtureLimitOptions {
  // Of the run beside which it stands: the same samples are meant.
  uint64_t seed = 0;
  int threads = 0;  // 0: as many as there are usable processors.
  // Samples of the mixture whose frames are decoded.
  int64_t samples = 2048;
  // How often they all are, of which the best counts: a limit is what the
  // machine can do when nothing disturbs it.
  int rounds = 3;
};

// Samples a second whose frames are decoded, by feedrate's own decoder, and
// nothing else is done: the frames of the mixture's first samples lie in
// memory, those that pairs of an episode share once, and become pixels of the
// batch's size in memory that stays in the cache. An episode that comes again
// in a later pass is decoded again. What cannot be used is passed over;
// FailedPrecondition when nothing is left. REQUIRES: `spec` is checked.
absl::StatusOr<double> MixtureDecodeLimit(
    const std::vector<MixtureSource>& sources, const MixtureSpec& spec,
    const MixtureLimitOptions& options);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_MIXTURE_DECODE_LIMIT_H_
