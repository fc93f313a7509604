// All that it takes to read a data set from a store, in a form that can be
// handed to another process.
#ifndef FEEDRATE_LIB_STORAGE_STORE_SPEC_H_
#define FEEDRATE_LIB_STORAGE_STORE_SPEC_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "lib/storage/store_options.h"

namespace feedrate {

// Credentials are no part of it: every process finds them for itself.
struct StoreSpec {
  std::string url;
  StoreOptions options;
  std::string cache_folder;  // Empty: nothing is kept.
  int64_t cache_bytes = 0;   // 0: no limit.
};

// By name, as settings are.
std::map<std::string, std::string> PrintStoreSpec(const StoreSpec& spec);
// InvalidArgument names what is missing, unknown or no number.
absl::StatusOr<StoreSpec> ParseStoreSpec(
    const std::map<std::string, std::string>& fields);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_STORE_SPEC_H_
