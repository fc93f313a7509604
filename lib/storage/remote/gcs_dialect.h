// GCS, by its JSON API.
#ifndef FEEDRATE_LIB_STORAGE_REMOTE_GCS_DIALECT_H_
#define FEEDRATE_LIB_STORAGE_REMOTE_GCS_DIALECT_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lib/storage/remote/dialect.h"
#include "lib/storage/store_options.h"

namespace feedrate {

// For gs://bucket/prefix. The endpoint is that of the options, or of
// STORAGE_EMULATOR_HOST, or Google's own; the token is GcsToken's unless the
// options say anonymous.
absl::StatusOr<std::unique_ptr<Dialect>> NewGcsDialect(
    const std::string& url, const StoreOptions& options,
    const std::function<std::string(const std::string&)>& variables,
    std::function<absl::Time()> now);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_REMOTE_GCS_DIALECT_H_
