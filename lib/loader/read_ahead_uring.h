// Reading ahead by io_uring.
#ifndef FEEDRATE_LIB_LOADER_READ_AHEAD_URING_H_
#define FEEDRATE_LIB_LOADER_READ_AHEAD_URING_H_

#include <memory>

#include "absl/status/statusor.h"
#include "lib/loader/item_order.h"
#include "lib/loader/read_ahead.h"
#include "lib/loader/source.h"

namespace feedrate {

// Opening, reading and closing a file is one chain of three requests, a read
// from a shard is one, and all that there is room for go to the kernel in one
// call. What goes wrong there is read again by Source::Read, whose errors have
// words.
absl::StatusOr<std::unique_ptr<ReadAhead>> StartUringReads(
    const ReadAheadOptions& options, const Source& source,
    const ItemOrder& order);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_READ_AHEAD_URING_H_
