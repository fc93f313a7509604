// The flags of programs that read from stores.
#ifndef FEEDRATE_LIB_RUNNER_STORE_FLAGS_H_
#define FEEDRATE_LIB_RUNNER_STORE_FLAGS_H_

#include "absl/status/statusor.h"
#include "lib/runner/remote_data.h"
#include "lib/storage/object_store.h"

namespace feedrate {

// For ToolInfo::flag_files.
inline constexpr char kStoreFlagsFile[] = "lib/runner/store_flags.cc";

// All but the url. REQUIRES: flags are parsed.
absl::StatusOr<StoreSpec> StoreSpecFromFlags();

// Opens any address as the flags say. REQUIRES: flags are parsed.
absl::StatusOr<OpenRemoteData> OpenStoresByFlags();

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_STORE_FLAGS_H_
