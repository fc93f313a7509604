// Everything a library can do wrong to the program that measures it.
//
// Name of the transform, what it does, and its own parameters:
//
//   ok             inverts the image
//   noop           returns the image as it is
//   slow           as ok, after a sleep of `seconds` in every call
//   busy           as ok, while `threads` threads use a core each for `seconds`
//   exception      throws std::runtime_error
//   out_of_memory  throws std::bad_alloc
//   cuda_memory    throws what our kernels' adapter does when a GPU is full
//   torch_memory   throws what torch does then
//   segfault       writes through a null pointer
//   abort          calls abort()
//   exit           leaves with status `code`
//   die_silently   kills itself with SIGKILL
//   hang           sleeps for ever
//   spin           computes for ever
//   stop           stops itself with SIGSTOP
//   allocate       takes memory until there is none, or until `bytes`
//   garbage        writes bytes that are no JSON to its reply pipe, goes on
//   half_line      writes the beginning of a reply, then kills itself
//   extra_reply    writes a reply that nobody asked for, goes on
//   wrong_reply    writes a reply to another command, then hangs
//   endless_line   writes a reply that never ends
//   close_pipe     closes its reply pipe, then hangs
//   flood_stderr   writes `bytes` to standard error, then aborts
//   kill_server    kills the process that forked it, then hangs
//   bad_output     as ok, but describes its output with a wrong shape
//
// Each takes `when=prepare|call|output` (the command it happens in; `call` is
// time) and `at=N` or `at=uniform(A,B)` (before which call of that kind,
// counted from 0 over the child's life, or a random one by the job's seed).
#ifndef FEEDRATE_LIB_ADAPTERS_FAULTY_FAULTS_H_
#define FEEDRATE_LIB_ADAPTERS_FAULTY_FAULTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/adapters/worker/params.h"

namespace feedrate {

// What a fault may be told.
struct FaultSettings {
  double seconds = 0;
  int64_t bytes = 0;  // 0: the fault's own idea
  int threads = 1;
  int code = 0;
};

// Does it. Comes back from few.
using Fault = void (*)(const FaultSettings& settings);

// The fault called `name`; NotFound lists them. Those that are no fault but a
// way to behave (ok, noop, slow, busy, bad_output) are no-ops or act on every
// call; the adapter knows.
absl::StatusOr<Fault> FindFault(absl::string_view name);

// All names, in the order above.
std::vector<std::string> FaultNames();

// Reads the settings that `name` takes.
FaultSettings ReadFaultSettings(absl::string_view name, Params* params);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_FAULTY_FAULTS_H_
