#include "lib/runner/child_subject.h"

#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "lib/base/status_macros.h"
#include "lib/machine/process_counters.h"
#include "lib/machine/resources.h"
#include "lib/measure/subject.h"
#include "lib/worker/child.h"
#include "lib/worker/message.h"

namespace feedrate {

ChildSubject::ChildSubject(MeasuredChild* child, double clock_pair_s)
    : child_(child),
      clock_pair_s_(clock_pair_s),
      cycles_(static_cast<pid_t>(child->pid())) {}

absl::StatusOr<Timing> ChildSubject::Time(const TimeRequest& request) {
  TimeCommand command;
  command.first = request.first;
  command.count = request.count;
  command.chunk = request.chunk;
  command.limit_s = request.limit_s;
  command.seed = request.seed;
  command.cold = request.cold;
  ASSIGN_OR_RETURN(TimeReply reply,
                   child_->Time(command, absl::Seconds(request.hang_s)));
  Timing timing;
  timing.samples_s = std::move(reply.samples_s);
  timing.items = reply.items;
  if (!reply.device.has_value()) return timing;
  GpuTiming& gpu = timing.gpu.emplace();
  gpu.clocks_mhz = std::move(reply.device->clocks_mhz);
  gpu.max_clock_mhz = reply.device->max_clock_mhz;
  gpu.throttle_reasons = reply.device->throttle_reasons;
  gpu.peak_allocated_bytes = reply.device->peak_allocated_bytes;
  gpu.peak_reserved_bytes = reply.device->peak_reserved_bytes;
  gpu.bytes_in = reply.device->bytes_in;
  gpu.bytes_out = reply.device->bytes_out;
  gpu.cpu_frames = reply.device->cpu_frames;
  return timing;
}

NoiseCounters ChildSubject::Count() {
  NoiseCounters counters;
  counters.process =
      ReadProcessCounters(root_, static_cast<pid_t>(child_->pid()));
  counters.processors = ReadProcessorCounters(root_);
  counters.cycles = cycles_.Read();
  counters.throttled_periods = ReadCgroup(root_).throttled_periods;
  counters.now_s = absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch());
  return counters;
}

}  // namespace feedrate
