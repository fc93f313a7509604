// Reads ahead from a store. For read_ahead.cc alone.
#ifndef FEEDRATE_LIB_LOADER_READ_AHEAD_REMOTE_H_
#define FEEDRATE_LIB_LOADER_READ_AHEAD_REMOTE_H_

#include <memory>

#include "lib/loader/item_order.h"
#include "lib/loader/read_ahead.h"
#include "lib/loader/remote_source.h"

namespace feedrate {

// Positions that follow each other in one block of a shard are one request; any
// other position is a request of its own. As many requests are started as keep
// all connections busy: at least one more than there are, then while there are
// fewer than `depth` and less than 64 MB ahead.
//
// Stop does not wait for answers: what comes later is dropped.
std::unique_ptr<ReadAhead> StartRemoteReads(const ReadAheadOptions& options,
                                            const RemoteSource& source,
                                            const ItemOrder& order);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_READ_AHEAD_REMOTE_H_
