// Read-ahead stage: reads the bytes of items before workers ask for them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/loader/jpeg_part.h"
#include "lib/loader/options.h"
#include "lib/loader/source.h"

namespace feedrate {

// Time spent and queue use of the stage.
struct ReadAheadTimes {
  int64_t busy_ns = 0;
  int64_t wait_out_ns = 0;  // Waiting for free buffers.
  double fill = 0;          // Mean share of `depth` that was ready.
};

// Read-ahead for one epoch. Positions are taken in order, by any thread, each
// once, and released in any order.
class ReadAhead {
 public:
  virtual ~ReadAhead() = default;

  // The method in use; never kAuto.
  virtual ReadMethod method() const = 0;

  // Waits for the bytes of the item at `position`. They stay valid until
  // Release or, if the worker reads for itself, until `own` is used again.
  // Cancelled after Stop.
  virtual absl::StatusOr<absl::string_view> Take(int64_t position,
                                                 ReadBuffer* own) = 0;
  // Not null if the item that was taken is only this part, made a file of its
  // own; valid until Release. Take is then DataLoss if the index does not fit.
  virtual const JpegPart* PartAt(int64_t position) const { return nullptr; }
  virtual void Release(int64_t position) = 0;

  // Ends all waits, including those of workers. All threads have ended when it
  // returns. Who may wait for a store holds CancelledReads during the call, and
  // until workers that read for themselves have ended.
  virtual void Stop() = 0;

  // Call after Stop.
  virtual ReadAheadTimes times() const = 0;
};

// Tells which part of an item of a store is enough, or null if it is to be read
// whole. Called by several threads at once.
using FindPart = std::function<std::unique_ptr<JpegPart>(int64_t item)>;

// `source` and `order` must outlive the result. `find_part` may be empty.
// Unimplemented: the kernel or
// the container does not allow io_uring. InvalidArgument: the method does not
// work with this source.
absl::StatusOr<std::unique_ptr<ReadAhead>> StartReadAhead(
    const ReadAheadOptions& options, const Source& source,
    const ItemOrder& order, FindPart find_part = nullptr);

// Samples 16 items of the order and returns true if most of them are in the
// page cache (the middle of the item can be read without waiting). Takes a
// fraction of a millisecond. Files for which this is unknown, such as network
// files, count as not cached; objects in a local cache count as cached.
bool IsMostlyCached(const Source& source, const ItemOrder& order);

}  // namespace feedrate
