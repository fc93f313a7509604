// An object store behind a network.
#ifndef FEEDRATE_LIB_STORAGE_REMOTE_REMOTE_STORE_H_
#define FEEDRATE_LIB_STORAGE_REMOTE_REMOTE_STORE_H_

#include <memory>

#include "lib/storage/object_store.h"
#include "lib/storage/remote/dialect.h"
#include "lib/storage/store_options.h"

namespace feedrate {

std::unique_ptr<ObjectStore> NewRemoteStore(std::unique_ptr<Dialect> dialect,
                                            const StoreOptions& options);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_REMOTE_REMOTE_STORE_H_
