// Whether a row comes from the machine that its job is planned for.
#ifndef FEEDRATE_LIB_ANALYSIS_COVERAGE_HARDWARE_H_
#define FEEDRATE_LIB_ANALYSIS_COVERAGE_HARDWARE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "lib/analysis/row_book.h"
#include "lib/catalogue/catalogue.h"
#include "lib/records/records.pb.h"

namespace feedrate {

// Whether a profile such as `h200x1_driver580_cuda13.0_sm90` is of a machine
// with a GPU: it names a compute capability.
bool IsGpuProfile(absl::string_view machine_profile);

// Bytes that any implementation must move for one item of this row, or 0 when
// nothing safe can be said. A lower bound, so that no good row is blamed:
// - a loader on the CPU writes a crop of every frame, a byte a value at least;
// - a single image transform moves the image once, which is more than its
//   file; for raw data it is the file. Nine channels are the file thrice;
// - clips take a few frames out of files of any length, transforms that crop
//   touch a part, and a GPU is not bound by the CPU's copy: 0.
float LeastItemBytes(const Row& row, const Catalogue& catalogue);

// Threads that a row of the job may use on its machine; 0 when unknown.
int ThreadsOf(const Job& job, const MachineFacts* machine,
              const Catalogue& catalogue);

// "" when the run's machine fits, else what is wrong. Judged by the `env`
// record where there is one, else by the machine profile, else by the row's
// own class. Clips of a library that the matrix puts on the host's CPU may
// come from a GPU machine, when the row says `host_cpu`.
std::string HardwareProblem(const Job& job, const RunState& run,
                            const RowBook& book, const Catalogue& catalogue);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_COVERAGE_HARDWARE_H_
