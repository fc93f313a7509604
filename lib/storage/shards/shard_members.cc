#include "lib/storage/shards/shard_members.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/tar/entry.h"
#include "lib/tar/error.h"
#include "lib/tar/reader.h"

namespace feedrate {
namespace {

constexpr int64_t kWindow = 1 << 20;

absl::StatusOr<std::string> ReadPart(const ObjectInfo& object, int64_t offset,
                                     int64_t bytes, ObjectStore* store) {
  std::string part(bytes, '\0');
  ReadRequest request;
  request.name = object.name;
  request.version = object.version;
  request.offset = offset;
  request.bytes = bytes;
  request.out = part.data();
  RETURN_IF_ERROR(store->Read(request));
  return part;
}

absl::Status Broken(const ObjectInfo& shard, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat(shard.name, ": is not a whole tar archive: ", what));
}

}  // namespace

absl::StatusOr<std::vector<ShardMember>> MembersByIndex(
    const ObjectInfo& shard, const ObjectInfo& index, const std::string& text) {
  absl::StatusOr<ShardIndex> parsed = ParseShardIndex(text);
  if (!parsed.ok()) {
    return absl::Status(
        parsed.status().code(),
        absl::StrCat(index.name, ": ", parsed.status().message(),
                     "; make it anew with pipeline --make_shards"));
  }
  if (parsed->bytes != shard.bytes) {
    return absl::FailedPreconditionError(
        absl::StrCat(index.name, ": is the index of a shard of ", parsed->bytes,
                     " bytes, and ", shard.name, " has ", shard.bytes));
  }
  return std::move(parsed->members);
}

absl::StatusOr<std::vector<ShardMember>> MembersByHeaders(
    const ObjectInfo& shard, ObjectStore* store) {
  std::vector<ShardMember> members;
  tar::Reader reader;
  std::string window;
  int64_t window_begin = 0;
  for (int64_t offset = 0; offset < shard.bytes;) {
    const int64_t window_end =
        window_begin + static_cast<int64_t>(window.size());
    if (offset < window_begin || offset >= window_end) {
      window_begin = offset;
      ASSIGN_OR_RETURN(
          window, ReadPart(shard, offset,
                           std::min(kWindow, shard.bytes - offset), store));
    }
    std::string_view input =
        std::string_view(window).substr(offset - window_begin);
    switch (reader.Next(&input)) {
      case tar::Reader::Event::kEntry: {
        const tar::Entry& entry = reader.entry();
        if (entry.type == tar::Entry::Type::kFile) {
          members.push_back({entry.path,
                             static_cast<int64_t>(entry.body_offset),
                             static_cast<int64_t>(entry.size), std::nullopt});
        }
        offset = static_cast<int64_t>(entry.EndOffset());
        reader.SkipRest();
        break;
      }
      case tar::Reader::Event::kEnd:
        return members;
      case tar::Reader::Event::kError:
        return Broken(shard, tar::Describe(reader.error()));
      case tar::Reader::Event::kNeedInput:
      case tar::Reader::Event::kBody:
      case tar::Reader::Event::kEntryEnd:
        offset = static_cast<int64_t>(reader.offset());
        break;
    }
  }
  if (reader.Finish() == tar::Reader::Event::kEnd) return members;
  return Broken(shard, tar::Describe(reader.error()));
}

}  // namespace feedrate
