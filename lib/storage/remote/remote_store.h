// An object store behind a network.
#pragma once

#include <memory>

#include "lib/storage/http/client.h"
#include "lib/storage/object_store.h"
#include "lib/storage/remote/dialect.h"

namespace feedrate {

// How its requests are sent.
HttpClientOptions ClientOptions(const StoreOptions& options);

std::unique_ptr<ObjectStore> NewRemoteStore(std::unique_ptr<Dialect> dialect,
                                            const StoreOptions& options);

}  // namespace feedrate
