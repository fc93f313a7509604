// One range of an object, into memory.
#ifndef FEEDRATE_LIB_STORAGE_REMOTE_RANGE_EXCHANGE_H_
#define FEEDRATE_LIB_STORAGE_REMOTE_RANGE_EXCHANGE_H_

#include <cstdint>
#include <memory>

#include "lib/storage/http/exchange.h"
#include "lib/storage/remote/remote_read.h"

namespace feedrate {

// The part of `read` that begins `first` bytes after the read's own offset. An
// attempt goes on where the last one broke off, as long as the version says
// that it is still the same object.
std::unique_ptr<HttpExchange> NewRangeExchange(std::shared_ptr<RemoteRead> read,
                                               int64_t first, int64_t bytes);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_REMOTE_RANGE_EXCHANGE_H_
