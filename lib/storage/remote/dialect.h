// How one kind of server is spoken to.
#ifndef FEEDRATE_LIB_STORAGE_REMOTE_DIALECT_H_
#define FEEDRATE_LIB_STORAGE_REMOTE_DIALECT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/storage/http/message.h"
#include "lib/storage/object_store.h"
#include "lib/storage/remote/list_page.h"

namespace feedrate {

// What the head of an answer says about the object that it is of.
struct ObjectFacts {
  std::string version;   // Empty where the server does not say.
  std::string checksum;  // Of the whole.
  // The version looks like an MD5 sum and is none.
  bool opaque_version = false;
};

// Turns wishes into requests and answers into facts; sends nothing itself.
// Messages of its errors hold no secrets and no address, which the caller puts
// before them. Thread-safe.
class Dialect {
 public:
  virtual ~Dialect() = default;

  virtual const std::string& url() const = 0;
  // Of an object, for messages.
  virtual std::string AddressOf(const std::string& name) const = 0;
  // Empty where the server has to be asked.
  virtual const std::vector<std::string>& fixed_names() const = 0;

  // `page` is the token of the last answer; empty: the first page.
  virtual absl::StatusOr<HttpRequest> ListRequest(const std::string& page) = 0;
  virtual absl::StatusOr<ListPage> ParseList(const std::string& body) = 0;
  // The name of an object with this key; nothing where it is no object of ours.
  virtual std::optional<std::string> NameOf(const std::string& key) const = 0;
  // See BucketPath.
  virtual std::optional<std::string> NarrowToObject() = 0;

  // One answer, with a short body or none. That the object is empty, and has
  // no first byte to give, may come as a 416.
  virtual absl::StatusOr<HttpRequest> StatRequest(const std::string& name) = 0;
  virtual absl::StatusOr<ObjectInfo> ParseStat(const std::string& name,
                                               const HttpResponse& response,
                                               const std::string& body) = 0;

  // Bytes `first` to `last`, of that version where it is not empty.
  virtual absl::StatusOr<HttpRequest> RangeRequest(const std::string& name,
                                                   const std::string& version,
                                                   int64_t first,
                                                   int64_t last) = 0;
  virtual ObjectFacts FactsOf(const HttpHeaders& headers) const = 0;

  // Of an answer that is an error.
  virtual absl::Status ErrorOf(const HttpResponse& response) const = 0;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_REMOTE_DIALECT_H_
