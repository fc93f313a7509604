#include "lib/loader/shard_source.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/base/unique_fd.h"
#include "lib/loader/file_source.h"
#include "lib/loader/read_place.h"
#include "lib/tar/reader.h"
#include "lib/tar/status.h"

namespace feedrate {
namespace {

struct Shard {
  std::string path;
  UniqueFd file;
};

struct Member {
  int shard = 0;
  std::string name;
  int64_t offset = 0;
  int64_t bytes = 0;
};

class Shards : public Source {
 public:
  Shards(std::vector<Shard> shards, std::vector<Member> members)
      : shards_(std::move(shards)), members_(std::move(members)) {}

  int64_t size() const override {
    return static_cast<int64_t>(members_.size());
  }
  std::string name(int64_t item) const override {
    const Member& member = members_[item];
    return absl::StrCat(shards_[member.shard].path, ":", member.name);
  }
  ItemPlace Place(int64_t item) const override {
    const Member& member = members_[item];
    ItemPlace place;
    place.fd = shards_[member.shard].file.get();
    place.offset = member.offset;
    place.bytes = member.bytes;
    return place;
  }
  absl::StatusOr<absl::string_view> Read(int64_t item,
                                         ReadBuffer* buffer) const override {
    return ReadPlace(Place(item), buffer);
  }

 private:
  std::vector<Shard> shards_;
  std::vector<Member> members_;
};

// The path up to the first dot of the file's name.
std::string KeyOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return path.substr(0, path.find('.', slash == path.npos ? 0 : slash + 1));
}

// Collects the items of one shard.
class Index {
 public:
  Index(int shard, std::vector<Member>* members)
      : shard_(shard), members_(members) {}

  void Add(const tar::Entry& entry) {
    if (entry.type != tar::Entry::Type::kFile) return;
    if (!IsItemName(entry.path)) return;
    std::string key = KeyOf(entry.path);
    if (key == last_key_) return;
    last_key_ = std::move(key);
    members_->push_back({shard_, entry.path,
                         static_cast<int64_t>(entry.body_offset),
                         static_cast<int64_t>(entry.size)});
  }

 private:
  int shard_;
  std::vector<Member>* members_;
  std::string last_key_ = "/";  // No member's.
};

absl::Status Broken(const std::string& path, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": is not a whole tar archive: ", what));
}

absl::Status IndexShard(const Shard& shard, Index* index) {
  // Headers are 512 bytes, each with its body behind it: more would be read in
  // vain.
  char block[4096];
  tar::Reader reader;
  uint64_t offset = 0;
  for (;;) {
    const ssize_t n = pread(shard.file.get(), block, sizeof(block), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Broken(shard.path, FileError("read", errno).message());
    if (n == 0) break;
    std::string_view input(block, n);
    for (bool more = true; more;) {
      switch (reader.Next(&input)) {
        case tar::Reader::Event::kEntry:
          index->Add(reader.entry());
          // Forgets what is left of the block: the next read begins behind.
          offset = reader.entry().EndOffset();
          reader.SkipRest();
          more = false;
          break;
        case tar::Reader::Event::kNeedInput:
          offset = reader.offset();
          more = false;
          break;
        case tar::Reader::Event::kEnd:
          return absl::OkStatus();
        case tar::Reader::Event::kError:
          return Broken(shard.path, tar::Describe(reader.error()));
        case tar::Reader::Event::kBody:
        case tar::Reader::Event::kEntryEnd:
          break;
      }
    }
  }
  if (reader.Finish() == tar::Reader::Event::kEnd) return absl::OkStatus();
  return Broken(shard.path, tar::Describe(reader.error()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Source>> ShardSource(
    const std::vector<std::string>& paths) {
  std::vector<Shard> shards;
  std::vector<Member> members;
  for (const std::string& path : paths) {
    shards.push_back(
        {path, UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC))});
    if (!shards.back().file.valid()) {
      const absl::Status status = FileError("open", errno);
      return absl::Status(status.code(),
                          absl::StrCat(path, ": ", status.message()));
    }
    Index index(static_cast<int>(shards.size()) - 1, &members);
    RETURN_IF_ERROR(IndexShard(shards.back(), &index));
  }
  return std::make_unique<Shards>(std::move(shards), std::move(members));
}

}  // namespace feedrate
