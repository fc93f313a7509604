// The protocol of one kind of server (S3, GCS, any web server), and what the
// protocols share: object names, bucket paths and HTTP errors.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/storage/http/message.h"
#include "lib/storage/object_store.h"
#include "lib/storage/remote/upload.h"

namespace feedrate {

// How much of a name an error message shows.
inline constexpr size_t kShownBytes = 100;

// Checks the name of an object. Spaces, Unicode and punctuation are allowed.
// InvalidArgument, with the name, if it is empty, begins with a slash, has a
// part "." or ".." (a server or a folder may resolve those, which gives another
// object), a control character, or more than the 1024 bytes that S3 and GCS
// allow.
absl::Status CheckObjectName(absl::string_view name);

// Offset of the first brace list: a range "{000..099}" or choices
// "{train,val}". npos if there is none; other braces are ordinary characters.
size_t FindBraceList(absl::string_view text);

// Every name that `text` stands for, in order, such as shard-{000..099}.tar;
// only `text` if it has no list. Numbers get the leading zeros of the range's
// ends. InvalidArgument for a descending range, a duplicate name, or more than
// a million names.
absl::StatusOr<std::vector<std::string>> ExpandBraceLists(
    absl::string_view text);

// A location in a bucket: s3://bucket/prefix or gs://bucket/prefix. Object
// names are what follows the prefix and its slash. A prefix with lists, such as
// shards/{000..099}.tar, names its objects; the prefix is then the folder
// before the first list. Thread-safe.
class BucketPath {
 public:
  // Keys in `url` are not percent-encoded, and "?" and "#" are ordinary
  // characters. InvalidArgument, with the URL, for a bad bucket name or list.
  static absl::StatusOr<std::unique_ptr<BucketPath>> Parse(
      const std::string& url);

  const std::string& url() const { return url_; }
  const std::string& bucket() const { return bucket_; }
  // Empty or ends with a slash.
  const std::string& prefix() const { return prefix_; }
  // In order; empty if the server has to be asked.
  const std::vector<std::string>& fixed_names() const { return fixed_names_; }

  std::string KeyOf(absl::string_view name) const;
  // For messages: "s3://bucket/key".
  std::string AddressOf(absl::string_view name) const;
  // Nothing for a key outside of the prefix and for folder markers, whose keys
  // end with a slash.
  std::optional<std::string> NameOf(absl::string_view key) const;

  // s3://bucket/a/b.tar may be a single object instead of a folder: treats the
  // URL as that object from now on and returns its name. Returns nothing if the
  // URL cannot be an object.
  std::optional<std::string> NarrowToObject();

 private:
  BucketPath() = default;

  std::string url_;
  std::string scheme_;
  std::string bucket_;
  std::string prefix_;
  std::vector<std::string> fixed_names_;
  std::atomic<bool> narrowed_{false};
};

// A Content-Range header.
struct ContentRange {
  int64_t first = -1;  // Both are -1 if there is no range, as in "bytes */100".
  int64_t last = -1;
  int64_t total = -1;  // -1 if unknown.
};

// Parses "bytes 0-9/100"; returns nothing for other text.
std::optional<ContentRange> ParseContentRange(absl::string_view text);

// The code for an HTTP status. Temporary errors get a code for which
// IsTransient is true.
absl::StatusCode CodeOfHttpStatus(int status);

// "HTTP 403 AccessDenied: Access Denied; check the permissions". `reason`,
// `message` and `remedy` may be empty. An empty remedy is replaced by the
// default for the code.
absl::Status HttpError(int status, absl::StatusCode code,
                       absl::string_view reason, absl::string_view message,
                       absl::string_view remedy);

// One page of a listing.
struct ListPage {
  std::vector<ObjectInfo> objects;  // Named by their full keys.
  std::string next;  // Token of the next page; empty on the last.
};

// What the head of a response says about the object.
struct ObjectFacts {
  std::string version;   // Empty if the server does not send it.
  std::string checksum;  // The whole object's.
  // The version looks like an MD5 sum, but is not one.
  bool opaque_version = false;
};

// A part in which an object was uploaded, and its own sum.
struct PartSum {
  int64_t offset = 0;
  int64_t bytes = 0;
  std::string checksum;
};

// Creates the requests and parses the responses of one kind of server; does not
// send anything itself. Error messages contain no secrets and no address; the
// caller adds the address. Thread-safe.
class Dialect {
 public:
  virtual ~Dialect() = default;

  virtual const std::string& url() const = 0;
  // See ObjectStore.
  virtual std::string identity() const = 0;
  // The address of an object, for messages.
  virtual std::string AddressOf(const std::string& name) const = 0;
  // Empty if the server has to be asked.
  virtual const std::vector<std::string>& fixed_names() const = 0;

  // `page` is the token from the last response; empty for the first page.
  virtual absl::StatusOr<HttpRequest> ListRequest(const std::string& page) = 0;
  virtual absl::StatusOr<ListPage> ParseList(const std::string& body) = 0;
  // The name of the object with this key; nothing if it is not in this store.
  virtual std::optional<std::string> NameOf(const std::string& key) const = 0;
  // See BucketPath.
  virtual std::optional<std::string> NarrowToObject() = 0;

  // Asks for the facts of one object. The body of the response is short or
  // empty. The response for an empty object, which has no first byte, may be a
  // 416.
  virtual absl::StatusOr<HttpRequest> StatRequest(const std::string& name) = 0;
  // Whether its response may have a checksum that a range's does not have.
  virtual bool stat_has_checksum() const { return false; }
  virtual absl::StatusOr<ObjectInfo> ParseStat(const std::string& name,
                                               const HttpResponse& response,
                                               const std::string& body) = 0;

  // Asks for bytes `first` to `last`, of that version unless it is empty.
  virtual absl::StatusOr<HttpRequest> RangeRequest(const std::string& name,
                                                   const std::string& version,
                                                   int64_t first,
                                                   int64_t last) = 0;
  virtual ObjectFacts FactsOf(const HttpHeaders& headers) const = 0;
  // Whether a response without a version is taken for the one that was asked
  // for.
  virtual bool may_omit_version() const { return false; }

  // Number of parts of the object with this version, whose sums the server may
  // know; 0 if it knows none.
  virtual int64_t PartsOf(const std::string& version) const { return 0; }
  // Asks for the sums of the parts after number `last`.
  virtual absl::StatusOr<HttpRequest> PartSumsRequest(const std::string& name,
                                                      int64_t last) {
    return absl::UnimplementedError("there are no sums of parts");
  }
  // Appends them to those before. Returns the number of the last one if there
  // are more, else 0. Clears `sums` if they are of another version.
  virtual absl::StatusOr<int64_t> ParsePartSums(const std::string& version,
                                                const std::string& body,
                                                std::vector<PartSum>* sums) {
    return 0;
  }

  // Converts an error response to a status.
  virtual absl::Status ErrorOf(const HttpResponse& response) const = 0;

  // Null if the server cannot be written to.
  virtual UploadDialect* uploads() { return nullptr; }
};

// The part that S3 and GCS share: names are those of a bucket.
class BucketDialect : public Dialect {
 public:
  explicit BucketDialect(std::unique_ptr<BucketPath> path)
      : path_(std::move(path)) {}

  const std::string& url() const override { return path_->url(); }
  std::string AddressOf(const std::string& name) const override {
    return path_->AddressOf(name);
  }
  const std::vector<std::string>& fixed_names() const override {
    return path_->fixed_names();
  }
  std::optional<std::string> NameOf(const std::string& key) const override {
    return path_->NameOf(key);
  }
  std::optional<std::string> NarrowToObject() override {
    return path_->NarrowToObject();
  }

 protected:
  const BucketPath& path() const { return *path_; }

 private:
  const std::unique_ptr<BucketPath> path_;
};

}  // namespace feedrate
