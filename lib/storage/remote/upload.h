// Writes objects to a bucket, part by part.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/storage/http/message.h"
#include "lib/storage/object_store.h"

namespace feedrate {

class Dialect;

// The header of a request whose body is part of an object.
inline constexpr char kBodyType[] = "content-type: application/octet-stream";

// A part of an object that is being written.
struct UploadPart {
  int number = 0;      // From 1.
  int64_t offset = 0;  // Of its first byte in the object.
  std::string bytes;
  uint32_t crc32c = 0;        // Of the part.
  uint32_t whole_crc32c = 0;  // Of the object up to the end of the part.
  bool is_last = false;
  std::string tag;    // The server's name for it; empty until it has the part.
  int64_t taken = 0;  // Bytes that the server has.
};

// How a kind of server takes objects: the requests, and what the responses say.
// Same rules as for Dialect.
class UploadDialect {
 public:
  virtual ~UploadDialect() = default;

  // Whether a part may be sent only when the server has the one before.
  virtual bool in_order() const = 0;

  // Writes a small object at once. ParsePart reads the response.
  virtual absl::StatusOr<HttpRequest> WholeRequest(const std::string& name,
                                                   const UploadPart& whole) = 0;

  // Starts an upload. The response has its id.
  virtual absl::StatusOr<HttpRequest> StartRequest(const std::string& name) = 0;
  virtual absl::StatusOr<std::string> ParseStart(const HttpResponse& response,
                                                 const std::string& body) = 0;

  virtual absl::StatusOr<HttpRequest> PartRequest(const std::string& name,
                                                  const std::string& id,
                                                  const UploadPart& part) = 0;
  // Sets `tag` and `taken`. A response 308 is one too.
  virtual absl::Status ParsePart(const HttpResponse& response,
                                 const std::string& body, UploadPart* part) = 0;

  // Makes the object of its parts, after which it can be seen. A server that
  // takes parts in order does so after the last one.
  virtual absl::StatusOr<HttpRequest> EndRequest(
      const std::string& name, const std::string& id,
      const std::vector<UploadPart>& parts) = 0;
  virtual absl::Status ParseEnd(const std::string& body) = 0;

  // Asks for uploads of the object that this program started and did not end,
  // and for the parts of one, with number, tag and `taken`. Unimplemented where
  // a server cannot tell.
  virtual absl::StatusOr<HttpRequest> FindRequest(const std::string& name) = 0;
  virtual absl::StatusOr<std::vector<std::string>> ParseFind(
      const std::string& name, const std::string& body) = 0;
  virtual absl::StatusOr<HttpRequest> PartsRequest(const std::string& name,
                                                   const std::string& id) = 0;
  virtual absl::StatusOr<std::vector<UploadPart>> ParseParts(
      const std::string& body) = 0;
};

// Writes objects below the URL of `dialect`: small ones at once, larger ones in
// parts, several of them at a time. InvalidArgument if such a server cannot be
// written to.
absl::StatusOr<std::unique_ptr<ObjectWriter>> NewBucketWriter(
    std::unique_ptr<Dialect> dialect, const StoreOptions& options);

}  // namespace feedrate
