// A library that misbehaves on purpose, for tests of the runner.
//
// Name of the transform, what it does, and its own parameters:
//
//   ok             inverts the image
//   noop           returns the image as it is
//   slow           as ok, after a sleep of `seconds` in every call
//   busy           as ok, while `threads` threads use a core each for `seconds`
//   exception      throws std::runtime_error
//   out_of_memory  throws std::bad_alloc
//   cuda_memory    throws what the cuda adapter throws when a GPU is full
//   torch_memory   throws what torch throws then
//   segfault       writes through a null pointer
//   abort          calls abort()
//   exit           leaves with status `code`
//   die_silently   kills itself with SIGKILL
//   hang           sleeps forever
//   spin           computes forever
//   stop           stops itself with SIGSTOP
//   allocate       takes memory until there is none, or until `bytes`
//   garbage        writes bytes that are not JSON to its reply pipe, goes on
//   half_line      writes the beginning of a reply, then kills itself
//   extra_reply    writes an unrequested reply, goes on
//   wrong_reply    writes a reply to another command, then hangs
//   endless_line   writes a reply that never ends
//   close_pipe     closes its reply pipe, then hangs
//   flood_stderr   writes `bytes` to standard error, then aborts
//   kill_server    kills the process that forked it, then hangs
//   bad_output     as ok, but describes its output with a wrong shape
//
// Each takes `when=prepare|call|output` (the command in which it happens;
// `call` is the `time` command) and `at=N` or `at=uniform(A,B)` (before which
// call of that kind, counted from 0 over the child's life, or drawn by the
// job's seed).
//
// As a loader it delivers ids without reading anything, shuffled, shared out
// among ranks and with a state, and does one thing wrong:
//
//   ok             nothing
//   drop           leaves out the last item
//   repeat         delivers the first item again at the end
//   no_id          delivers an item that shows no id
//   same_order     every epoch has the same order
//   new_order      no epoch can be repeated
//   by_workers     the order depends on the number of loader workers
//   every_rank     every rank gets everything
//   no_state       has no state to continue from
//   forget         continues from the beginning
//   skip_ahead     continues one batch too late
//   leak           keeps `bytes` of each epoch
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "lib/adapters/worker/adapter.h"
#include "lib/media/corpus.h"

namespace feedrate {

class FaultyAdapter : public Adapter {
 public:
  std::string library() const override { return "faulty"; }
  std::string version() const override { return "1"; }
  // `native_op` is the name of the fault.
  absl::StatusOr<std::unique_ptr<PreparedTransform>> Prepare(
      const PrepareCommand& spec, const Corpus& corpus) override;
  // The same for the faults of loaders.
  absl::StatusOr<std::unique_ptr<PreparedLoader>> PrepareLoader(
      const PrepareCommand& spec, const LoaderInput& input) override;
};

}  // namespace feedrate
