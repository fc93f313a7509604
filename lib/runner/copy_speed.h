// What this machine copies at best.
#ifndef FEEDRATE_LIB_RUNNER_COPY_SPEED_H_
#define FEEDRATE_LIB_RUNNER_COPY_SPEED_H_

namespace feedrate {

// Bytes a second that one thread copies between buffers larger than the caches;
// the best of a few tries, some 50 ms in all.
double MeasureCopyBytesPerSecond();

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_COPY_SPEED_H_
