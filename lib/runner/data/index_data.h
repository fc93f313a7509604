// Makes an index of JPEG files ahead of the first epoch.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "lib/storage/object_store.h"

namespace feedrate {

// For `pipeline --make_index`: adds the images of a store or folder, or those
// of the tar files in it, to the index in `path`: see JpegIndex. What is there
// of them is kept. Shows progress on standard error. Returns a summary for the
// user. DataLoss, with that summary, if an item could not be used; the others
// are in the index.
absl::StatusOr<std::string> IndexDataset(const StoreSpec& store,
                                         const std::string& path);

}  // namespace feedrate
