// A data set in an object store, as a run sees it.
//
// This is an interface, so that only programs that read from stores link the
// code for it, which is in lib/runner/data/store_data.h.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/worker/source_list.h"

namespace feedrate {

// Files in the order of the items.
struct FileSet {
  std::vector<SourceFile> files;
  // `files`, or `shards` for tar files, or `objects` of a store.
  std::string source = "files";
  // Number of items in all files.
  int64_t items = 0;
  // What a folder has besides them, for a warning. May be empty.
  std::string left_out;
};

using FileProgress = std::function<void(int64_t done, int64_t total)>;

// Not thread-safe.
class RemoteData {
 public:
  virtual ~RemoteData() = default;

  // The first `num_items` items (0 means all) as parts of objects; `source` is
  // `objects`. Objects with one of `endings` (no dot, any case) are items, by
  // sorted name; if there are none, the members of tar files are.
  // InvalidArgument when there are fewer.
  virtual absl::StatusOr<FileSet> Objects(
      const std::vector<std::string>& endings, int64_t num_items) = 0;

  // Copies the same items into a folder of the cache, as files or tar files,
  // and returns the folder. The copies have numbers as names, or with
  // `own_names` those of the store.
  virtual absl::StatusOr<std::string> BringHome(
      const std::vector<std::string>& endings, int64_t num_items,
      bool own_names, const FileProgress& progress) = 0;

  // The bytes of an item of Objects.
  virtual absl::StatusOr<std::string> Read(const SourceFile& item) = 0;

  // How another process reaches the store (lib/storage/object_store.h).
  virtual std::map<std::string, std::string> Fields() const = 0;
};

// Opens the store at an address. `say` gets messages for the user.
using OpenRemoteData =
    std::function<absl::StatusOr<std::unique_ptr<RemoteData>>(
        const std::string& address,
        const std::function<void(const std::string&)>& say)>;

}  // namespace feedrate
