// Object stores: a bucket, a web server, or a folder.
//
// A store has one URL and the objects below it. All stores are read the same
// way: any number of ranges at once, each into memory of the caller.
// ObjectWriter writes to a bucket or a folder.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace feedrate {

struct ObjectInfo {
  std::string name;  // Relative to the store's URL; no leading slash.
  int64_t bytes = 0;
  std::string version;  // ETag or generation; changes when the object does.
  // The whole object's: "md5:HEX", "crc32c:HEX" or empty.
  std::string checksum;
};

// What it takes in a list of objects, besides its name.
inline int64_t MemoryOf(const ObjectInfo& object) {
  return static_cast<int64_t>(sizeof(object) + object.version.size() +
                              object.checksum.size());
}

struct ReadRequest {
  std::string name;
  // If set, reading an object that has changed since fails with
  // FAILED_PRECONDITION instead of mixing bytes of two versions.
  std::string version;
  int64_t offset = 0;
  int64_t bytes = 0;  // The read fails if there are fewer.
  char* out = nullptr;
  // If set, the bytes must have this checksum (in the form of
  // ObjectInfo::checksum). A mismatch is retried.
  std::string checksum;
  // The size of the whole object as it was listed, if known. Reading an object
  // that has another one fails like another version: the only sign of a change
  // where a server names no versions.
  int64_t object_bytes = -1;
};

struct TransferCounts {
  int64_t requests = 0;  // Sent, including retries.
  int64_t bytes = 0;     // Object bytes received.
  int64_t retries = 0;
  double busy_s = 0;  // Time with at least one request in flight.
  int64_t checksum_faults = 0;
};

// Thread-safe.
class ObjectStore {
 public:
  virtual ~ObjectStore() = default;

  // Never contains credentials.
  virtual const std::string& url() const = 0;

  // Differs for stores with different data: the URL, and what it leaves out,
  // such as the endpoint and the query. For cache keys; may contain secrets, so
  // never print it.
  virtual std::string identity() const { return url(); }

  // All objects below the URL, sorted by name, each once. Their sizes are
  // allowed ones (lib/base/allowed_sizes.h), but need not be true.
  virtual absl::StatusOr<std::vector<ObjectInfo>> List() = 0;

  virtual absl::StatusOr<ObjectInfo> Stat(const std::string& name) = 0;

  // Calls `done` once, after any retries, from a thread of the store or from
  // within this call. `out` must stay valid until then. `done` must not block;
  // it may start further reads.
  virtual void StartRead(const ReadRequest& request,
                         std::function<void(absl::Status)> done) = 0;

  // The same, but waits. Must not be called from a `done` callback.
  absl::Status Read(const ReadRequest& request);

  // While it is set, reads end with CANCELLED: those under way, which drop
  // their connections, and those that are started. For whoever waits for a read
  // and no longer needs it.
  virtual void SetCancelled(bool cancelled) {}

  virtual TransferCounts counts() const = 0;
};

// Waits until CountDown has been called `count` times. Thread-safe; may be
// destroyed as soon as Wait has returned. Not Abseil's, because the
// distribution's thread sanitizer does not see Abseil's locks.
class Latch {
 public:
  explicit Latch(int64_t count) : left_(count) {}

  void CountDown() {
    const std::lock_guard<std::mutex> lock(mutex_);
    --left_;
    // Notify under the lock: the waiter may destroy the condition right after.
    if (left_ <= 0) changed_.notify_all();
  }
  void Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return left_ <= 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t left_;
};

// Starts all reads and waits for all of them. Returns the first failure,
// prefixed with the name of the object.
absl::Status ReadMany(const std::vector<ReadRequest>& requests,
                      ObjectStore* store);

// Reads the whole objects [begin, end) into strings. Verifies those that have a
// checksum. InvalidArgument for an object that is larger than an item may be.
absl::Status ReadObjects(const std::vector<ObjectInfo>& objects, size_t begin,
                         size_t end, ObjectStore* store,
                         std::vector<std::string>* contents);

// The end of a run of objects that starts at `begin` and has at most `bytes` in
// total. The run has at least one object.
size_t EndOfRun(const std::vector<ObjectInfo>& objects, size_t begin,
                int64_t bytes);

// How to reach a store. docs/storage.md explains the options to users.
struct StoreOptions {
  // Maximum number of requests in flight.
  int connections = 8;
  // A longer read is split into several requests.
  int64_t range_bytes = int64_t{8} << 20;
  // Number of retries after the first attempt.
  int retries = 6;
  // Longest time without receiving a byte; also limits connecting.
  double timeout_s = 30;
  // Replaces the cloud's own address, for example "http://127.0.0.1:9000".
  // Defaults to AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL or STORAGE_EMULATOR_HOST.
  std::string endpoint;
  // Other hosts of the store, to which it may redirect reads and uploads:
  // "10.0.0.*,*.store.example:8081".
  std::string redirect_hosts;
  // Sends no credentials, even if there are some.
  bool anonymous = false;
  // Certificates to trust. Defaults to AWS_CA_BUNDLE, CURL_CA_BUNDLE,
  // SSL_CERT_FILE, or the system's certificates.
  std::string ca_file;
};

// Everything that is needed to read a data set from a store, in a form that can
// be passed to another process. Does not include credentials: every process
// finds them for itself.
struct StoreSpec {
  std::string url;
  StoreOptions options;
  std::string cache_folder;  // Empty means no cache.
  int64_t cache_bytes = 0;   // 0 means no limit.
};

// Converts to and from named settings.
std::map<std::string, std::string> PrintStoreSpec(const StoreSpec& spec);
// InvalidArgument names the field that is missing, unknown or not a number.
absl::StatusOr<StoreSpec> ParseStoreSpec(
    const std::map<std::string, std::string>& fields);

// A folder as an object store, so that code for buckets can be used and tested
// with plain files. Objects are the files in `folder` and its subfolders, named
// by their relative path. StartRead uses pread and calls `done` before it
// returns. The version of a file consists of its size, change time and inode.
// Whole reads are checked against "crc32c:HEX"; other checksums are
// UNIMPLEMENTED. List is INVALID_ARGUMENT when there is a pipe, socket or
// device.
//
// NOT_FOUND when there is no such folder.
absl::StatusOr<std::unique_ptr<ObjectStore>> OpenFileStore(
    const std::string& folder);

// An object that is being written. It appears, whole, when Commit returns ok;
// others see nothing of it before. Not thread-safe.
class ObjectUpload {
 public:
  // Without Commit, a server may keep parts, with which the next upload of the
  // same bytes continues.
  virtual ~ObjectUpload() = default;

  virtual absl::Status Write(absl::string_view bytes) = 0;
  // Call once, last.
  virtual absl::Status Commit() = 0;
};

// Thread-safe.
class ObjectWriter {
 public:
  virtual ~ObjectWriter() = default;

  // Starts an object, which replaces one of this name. The writer must outlive
  // it.
  virtual absl::StatusOr<std::unique_ptr<ObjectUpload>> Start(
      const std::string& name) = 0;
};

// Files in `folder`, which is created.
absl::StatusOr<std::unique_ptr<ObjectWriter>> NewFolderWriter(
    const std::string& folder);

}  // namespace feedrate
