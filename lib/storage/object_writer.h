// Writes objects to a bucket or a folder.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace feedrate {

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
