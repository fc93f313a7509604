// A place in a bucket: s3://bucket/prefix or gs://bucket/prefix.
#ifndef FEEDRATE_LIB_STORAGE_REMOTE_BUCKET_PATH_H_
#define FEEDRATE_LIB_STORAGE_REMOTE_BUCKET_PATH_H_

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace feedrate {

// Names of objects are what follows the prefix and its slash. A prefix with
// lists, such as shards/{000..099}.tar, names its objects; the folder before
// the first list is then the prefix. Thread-safe.
class BucketPath {
 public:
  // `url` as it was written: keys are not percent-encoded there, and "?" and
  // "#" are letters like any. InvalidArgument, with the url, for a bad bucket
  // name or list.
  static absl::StatusOr<std::unique_ptr<BucketPath>> Parse(
      const std::string& url);

  const std::string& url() const { return url_; }
  const std::string& bucket() const { return bucket_; }
  // Empty, or ends with a slash.
  const std::string& prefix() const { return prefix_; }
  // In order; empty where the server has to be asked.
  const std::vector<std::string>& fixed_names() const { return fixed_names_; }

  std::string KeyOf(absl::string_view name) const;
  // For messages: "s3://bucket/key".
  std::string AddressOf(absl::string_view name) const;
  // Nothing for a key outside, and for the marks of folders, whose keys end
  // with a slash.
  std::optional<std::string> NameOf(absl::string_view key) const;

  // s3://bucket/a/b.tar may be one object and no folder: from now on that is
  // all there is, under the name that comes back. Nothing where the url cannot
  // be an object.
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

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_REMOTE_BUCKET_PATH_H_
