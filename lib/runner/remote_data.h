// A data set in a store, as a run sees it.
//
// An interface, so that only programs that read from stores link what that
// takes; lib/runner/store_data.h has it.
#ifndef FEEDRATE_LIB_RUNNER_REMOTE_DATA_H_
#define FEEDRATE_LIB_RUNNER_REMOTE_DATA_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/runner/file_sets.h"
#include "lib/worker/source_list.h"

namespace feedrate {

// Not thread-safe.
class RemoteData {
 public:
  virtual ~RemoteData() = default;

  // `num_items` items (0: all) as parts of objects; `source` is `objects`.
  // Objects with one of `endings` (no dot, any case) are items by sorted name;
  // where there are none, the members of tar files are. InvalidArgument when
  // there are fewer.
  virtual absl::StatusOr<FileSet> Objects(
      const std::vector<std::string>& endings, int64_t num_items) = 0;

  // The same items as files, or as tar files, in a folder of the cache, under
  // numbers, or with `own_names` their own.
  virtual absl::StatusOr<std::string> BringHome(
      const std::vector<std::string>& endings, int64_t num_items,
      bool own_names, const FileProgress& progress) = 0;

  // The bytes of an item of Objects.
  virtual absl::StatusOr<std::string> Read(const SourceFile& item) = 0;

  // How another process reaches the store (lib/storage/object_store.h).
  virtual std::map<std::string, std::string> Fields() const = 0;
};

// Opens the store of an address. Messages for people go to `say`.
using OpenRemoteData =
    std::function<absl::StatusOr<std::unique_ptr<RemoteData>>(
        const std::string& address,
        const std::function<void(const std::string&)>& say)>;

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_REMOTE_DATA_H_
