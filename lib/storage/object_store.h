// Objects behind an address: a bucket, a web server, a folder.
//
// A store knows one url and the objects below it. All of them are read the same
// way: any number of ranges at once, each into memory of the caller.
#ifndef FEEDRATE_LIB_STORAGE_OBJECT_STORE_H_
#define FEEDRATE_LIB_STORAGE_OBJECT_STORE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace feedrate {

struct ObjectInfo {
  std::string name;  // Below the store's url, no leading slash.
  int64_t bytes = 0;
  std::string version;   // ETag or generation; changes when the object does.
  std::string checksum;  // Of the whole: "md5:HEX", "crc32c:HEX" or empty.
};

struct ReadRequest {
  std::string name;
  // Where set, a read of an object that has changed since fails with
  // FAILED_PRECONDITION instead of giving bytes of two versions.
  std::string version;
  int64_t offset = 0;
  int64_t bytes = 0;  // All of them, or the read fails.
  char* out = nullptr;
  // Where set, the bytes are those of the whole object and must have it, in the
  // form of ObjectInfo::checksum. Read again where they do not.
  std::string checksum;
};

struct TransferCounts {
  int64_t requests = 0;  // Sent, retries among them.
  int64_t bytes = 0;     // Of objects, as they arrived.
  int64_t retries = 0;
  double busy_s = 0;  // At least one request in flight.
  int64_t checksum_faults = 0;
};

// Thread-safe.
class ObjectStore {
 public:
  virtual ~ObjectStore() = default;

  // Never with credentials.
  virtual const std::string& url() const = 0;

  // All below the url, sorted by name.
  virtual absl::StatusOr<std::vector<ObjectInfo>> List() = 0;

  virtual absl::StatusOr<ObjectInfo> Stat(const std::string& name) = 0;

  // Calls `done` once, from a thread of the store or from within this call;
  // retries are inside. `out` must live until then. `done` must not block and
  // may start further reads.
  virtual void StartRead(const ReadRequest& request,
                         std::function<void(absl::Status)> done) = 0;

  // The same, and waits. Not from within a `done`.
  absl::Status Read(const ReadRequest& request);

  virtual TransferCounts counts() const = 0;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_OBJECT_STORE_H_
