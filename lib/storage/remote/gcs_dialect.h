// The JSON API of Google Cloud Storage (GCS).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "lib/storage/object_store.h"
#include "lib/storage/remote/dialect.h"

namespace feedrate {

// Parses a page of objects.list. DataLoss, so that it is retried, if it is
// incomplete.
absl::StatusOr<ListPage> ParseGcsListing(absl::string_view body);

// Parses a response of objects.get.
absl::StatusOr<ObjectInfo> ParseGcsObject(absl::string_view body);

// The message of an error response, not redacted; empty if the body is not an
// error.
std::string ParseGcsError(absl::string_view body);

// For gs://bucket/prefix. The endpoint comes from the options, from
// STORAGE_EMULATOR_HOST, or is Google's own. Uses FindGoogleToken unless the
// options say anonymous.
absl::StatusOr<std::unique_ptr<Dialect>> NewGcsDialect(
    const std::string& url, const StoreOptions& options,
    const std::function<std::string(const std::string&)>& variables,
    std::function<absl::Time()> now);

}  // namespace feedrate
