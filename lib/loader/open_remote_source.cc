#include "lib/loader/open_remote_source.h"

#include <string>
#include <unordered_map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/loader/remote_source.h"
#include "lib/storage/open_store.h"

namespace feedrate {

absl::StatusOr<std::unique_ptr<Source>> OpenRemoteSource(
    const StoreSpec& spec, const std::vector<SourceFile>& files) {
  ASSIGN_OR_RETURN(OpenedStore store, OpenCachedStore(spec));
  std::vector<RemoteObject> objects;
  std::vector<RemoteItem> items;
  items.reserve(files.size());
  // Of a shard all items share the object.
  std::unordered_map<std::string, int> known;
  for (const SourceFile& file : files) {
    if (!file.part.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat(file.path, ": is no part of an object"));
    }
    const ObjectPart& part = *file.part;
    const auto [object, is_new] =
        known.emplace(file.path, static_cast<int>(objects.size()));
    if (is_new) objects.push_back({file.path, part.version, part.checksum});
    RemoteItem& item = items.emplace_back();
    item.object = object->second;
    item.offset = part.offset;
    item.bytes = file.bytes;
    item.is_whole = part.member.empty();
    item.crc32c = part.crc32c;
    item.member = part.member;
  }
  return std::make_unique<RemoteSource>(
      std::move(store), std::move(objects), std::move(items),
      spec.options.connections, spec.options.range_bytes);
}

}  // namespace feedrate
