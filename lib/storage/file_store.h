// A folder as an object store, so that what is written for buckets can be used,
// and tested, with plain files.
#ifndef FEEDRATE_LIB_STORAGE_FILE_STORE_H_
#define FEEDRATE_LIB_STORAGE_FILE_STORE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "lib/storage/object_store.h"

namespace feedrate {

// The files of `folder` and below, named by their path from there. Reads are
// done by pread within StartRead: `done` is called before that returns. The
// version of a file is its size, time of change and inode. Whole reads are
// checked against "crc32c:HEX"; other checksums are UNIMPLEMENTED.
//
// NOT_FOUND when there is no such folder.
absl::StatusOr<std::unique_ptr<ObjectStore>> OpenFileStore(
    const std::string& folder);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_FILE_STORE_H_
