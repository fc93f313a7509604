// The sizes that are believed when others say them: a store's listing, a
// header, an index. Whatever is larger is refused before memory is allocated.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace feedrate {

// An image, an array or an index: read into memory as a whole.
inline constexpr int64_t kMaxItemBytes = int64_t{1} << 30;
// An object or file, such as a shard, of which only parts are read. S3 and GCS
// allow less.
inline constexpr int64_t kMaxObjectBytes = int64_t{1} << 46;
// A data set. Sums of sizes up to this limit cannot overflow.
inline constexpr int64_t kMaxDatasetBytes = int64_t{1} << 60;
inline constexpr int64_t kMaxDatasetObjects = 100000000;
// What a list of objects or items may take of our memory, and never more than
// half of the machine's: about 16 million of them.
inline constexpr int64_t kMaxListBytes = int64_t{4} << 30;

// Parses the size of an object. Returns false for anything that is not a number
// from 0 to kMaxObjectBytes.
bool ParseObjectBytes(absl::string_view text, int64_t* bytes);

// InvalidArgument, without a name, when an item has more than kMaxItemBytes.
absl::Status CheckItemBytes(int64_t bytes);
// The same, prefixed with `name`.
absl::Status CheckItemBytes(absl::string_view name, int64_t bytes);

// For a file that is read to its end, whatever it is: InvalidArgument, with
// `name`, when `fd` is a device other than a terminal or /dev/null. A checkout
// may contain a link to /dev/zero.
absl::Status CheckHasEnd(absl::string_view name, int fd);

// Adds up the objects of a data set. InvalidArgument when one object, the data
// set, or the list of its objects is larger than allowed.
class DatasetSize {
 public:
  DatasetSize();

  // `memory` is what the object takes in the list besides its name.
  absl::Status Add(absl::string_view name, int64_t bytes, int64_t memory = 0);

  int64_t objects() const { return objects_; }

 private:
  const int64_t max_memory_;
  int64_t objects_ = 0;
  int64_t bytes_ = 0;
  int64_t memory_ = 0;
};

}  // namespace feedrate
