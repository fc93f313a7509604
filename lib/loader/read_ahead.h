// Read-ahead stage: bytes of items that workers will soon ask for.
#ifndef FEEDRATE_LIB_LOADER_READ_AHEAD_H_
#define FEEDRATE_LIB_LOADER_READ_AHEAD_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/loader/item_order.h"
#include "lib/loader/read_buffer.h"
#include "lib/loader/source.h"

namespace feedrate {

// kInline: every worker reads what it needs itself, nothing is ahead. The best
// where files are in the page cache, since nothing has to change threads.
// kThreads: threads that read. kIoUring: one thread that has many reads under
// way in the kernel. Both hide the time that a disk takes. kAuto: looks at some
// items and takes kInline if most are in the page cache, otherwise kIoUring, or
// kThreads where that is not allowed. kRemote: many requests under way to a
// store; the one that kAuto takes for what is not in a local cache.
enum class ReadMethod { kInline, kThreads, kIoUring, kAuto, kRemote };

struct ReadAheadOptions {
  ReadMethod method = ReadMethod::kAuto;
  int threads = 4;
  // Items that are read or being read. REQUIRES: > 0.
  int depth = 32;
};

// What the stage did.
struct ReadAheadTimes {
  int64_t busy_ns = 0;
  int64_t wait_out_ns = 0;  // For room.
  double fill = 0;          // Mean share of the depth that was ready.
};

// Of one epoch. Positions are taken in order, by any thread, each once, and
// given back in any order.
class ReadAhead {
 public:
  virtual ~ReadAhead() = default;

  // What is used; never kAuto.
  virtual ReadMethod method() const = 0;

  // Waits for the bytes of the item at `position`, which stay until Release or,
  // where the worker reads for itself, until `own` is used again. Cancelled
  // after Stop.
  virtual absl::StatusOr<absl::string_view> Take(int64_t position,
                                                 ReadBuffer* own) = 0;
  virtual void Release(int64_t position) = 0;

  // Ends every wait, of workers too. The threads are gone when it returns.
  virtual void Stop() = 0;

  // After Stop.
  virtual ReadAheadTimes times() const = 0;
};

// `source` and `order` outlive the result. Unimplemented: the kernel or the
// container does not let us use io_uring. InvalidArgument: the method is not
// one for such a source.
absl::StatusOr<std::unique_ptr<ReadAhead>> StartReadAhead(
    const ReadAheadOptions& options, const Source& source,
    const ItemOrder& order);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_READ_AHEAD_H_
