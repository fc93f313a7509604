#include "lib/measure/measure_run.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "lib/base/status_macros.h"
#include "lib/measure/chunk.h"
#include "lib/measure/noise.h"
#include "lib/measure/subject.h"

namespace feedrate {
namespace {

// Items differ in size, and the first ones predict the others badly.
constexpr double kHangFactor = 10;

}  // namespace

absl::StatusOr<RunResult> MeasureRun(const RunRequest& request,
                                     Subject* subject, NoiseWatch* noise) {
  const ChunkChoice choice =
      ChooseChunk(request.chunk, request.per_call_s, subject->clock_pair_s(),
                  request.num_items);
  TimeRequest time;
  time.seed = request.seed;
  time.hang_s = request.hang_s;
  time.cold = request.cold;
  if (request.rewarm_items > 0) {
    time.count = std::min(std::max(request.rewarm_items, request.chunk.fixed),
                          request.num_items);
    time.chunk = std::max<int64_t>(request.chunk.fixed, 1);
    RETURN_IF_ERROR(subject->Time(time).status());
  }
  time.count = choice.count;
  time.chunk = choice.chunk;
  time.hang_s += kHangFactor * request.per_call_s * choice.count;
  const NoiseCounters before = subject->Count();
  ASSIGN_OR_RETURN(Timing timing, subject->Time(time));
  const NoiseCounters after = subject->Count();
  RunResult result;
  result.chunk = choice.chunk;
  result.elapsed_s = ElapsedOf(timing);
  result.timing = std::move(timing);
  result.warnings = noise->Judge(before, after, result.elapsed_s);
  return result;
}

}  // namespace feedrate
