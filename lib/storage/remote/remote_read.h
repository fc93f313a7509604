// One read of an object, as one or many requests.
#ifndef FEEDRATE_LIB_STORAGE_REMOTE_REMOTE_READ_H_
#define FEEDRATE_LIB_STORAGE_REMOTE_REMOTE_READ_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "lib/storage/http/client.h"
#include "lib/storage/object_store.h"
#include "lib/storage/remote/dialect.h"
#include "lib/storage/remote/work_thread.h"

namespace feedrate {

// What the reads of a store share.
struct ReadContext {
  Dialect* dialect = nullptr;
  HttpClient* client = nullptr;
  WorkThread* checker = nullptr;  // Sums up what is too long for the network's.
  int64_t range_bytes = 0;
  // Of an object whose checksum comes out wrong: half as many retries as a
  // request has, because each costs the whole.
  int whole_attempts = 1;
  std::atomic<int64_t> bytes{0};
  std::atomic<int64_t> checksum_faults{0};
};

// Its parts run at once and write straight into the caller's memory. They must
// be of one version; an object that is read whole must have the checksum that
// the request or the server names. Lives as long as a part of it runs.
class RemoteRead : public std::enable_shared_from_this<RemoteRead> {
 public:
  RemoteRead(ReadContext* context, const ReadRequest& request,
             std::function<void(absl::Status)> done);

  // REQUIRES: request.bytes > 0.
  void Start();

  // The rest is for its parts.
  const ReadRequest& request() const { return request_; }
  ReadContext& context() const { return *context_; }
  // What the part has to know: nobody needs it when another has failed.
  bool failed() const { return !status_.ok(); }
  // The version to ask for: what the caller or the first answer says.
  const std::string& version() const { return version_; }
  // Of the head of an answer. FailedPrecondition where the object is no longer
  // the one that the read began with.
  absl::Status TakeFacts(const ObjectFacts& facts, int64_t total);
  void PartDone(const absl::Status& status);

 private:
  std::string ChecksumToHave() const;
  void Verify();
  void Finish();

  ReadContext* const context_;
  const ReadRequest request_;
  std::function<void(absl::Status)> done_;
  // Parts run in the client's thread alone, and Verify when none runs.
  absl::Status status_;
  std::string version_;
  ObjectFacts facts_;
  int64_t total_ = -1;  // Of the object; -1: not said.
  int64_t parts_left_ = 0;
  int wholes_ = 0;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_REMOTE_REMOTE_READ_H_
