// Many reads at once, awaited together.
#ifndef FEEDRATE_LIB_STORAGE_READ_MANY_H_
#define FEEDRATE_LIB_STORAGE_READ_MANY_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "lib/storage/object_store.h"

namespace feedrate {

// Starts all, waits for all. The first failure counts, after the name of what
// could not be read.
absl::Status ReadMany(const std::vector<ReadRequest>& requests,
                      ObjectStore* store);

// Whole objects [begin, end) into strings, checked where they have a checksum.
absl::Status ReadObjects(const std::vector<ObjectInfo>& objects, size_t begin,
                         size_t end, ObjectStore* store,
                         std::vector<std::string>* contents);

// The end of a run of objects from `begin` on that have at most `bytes`
// together; at least one.
size_t EndOfRun(const std::vector<ObjectInfo>& objects, size_t begin,
                int64_t bytes);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_READ_MANY_H_
