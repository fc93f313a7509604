// What the JSON API of GCS answers: listings, objects and errors.
#ifndef FEEDRATE_LIB_STORAGE_REMOTE_GCS_LISTING_H_
#define FEEDRATE_LIB_STORAGE_REMOTE_GCS_LISTING_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/storage/remote/list_page.h"

namespace feedrate {

// A page of objects.list. DataLoss, so that it is asked for again, where it is
// not whole.
absl::StatusOr<ListPage> ParseGcsListing(absl::string_view body);

// An answer of objects.get.
absl::StatusOr<ObjectInfo> ParseGcsObject(absl::string_view body);

// The message of an error, not redacted; empty where the body is none.
std::string ParseGcsError(absl::string_view body);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_REMOTE_GCS_LISTING_H_
