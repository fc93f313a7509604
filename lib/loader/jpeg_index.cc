#include "lib/loader/jpeg_index.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "isa-l/crc64.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/unique_fd.h"

namespace feedrate {
namespace {

constexpr char kMagic[] = "feedrate jpeg index 1\n";
constexpr size_t kMagicBytes = 24;

// The file: kMagic, the number of records, records by key, entries. Numbers are
// little-endian, as on every processor that this runs on.
struct Record {
  uint64_t checksum;
  uint64_t picture_bytes;
  uint64_t offset;  // From the begin of the file.
  uint32_t bytes;
  uint32_t own_checksum;  // Covers the entries and the key.
};
static_assert(sizeof(Record) == 32, "written as it is");

uint64_t Checksum(uint64_t before, absl::string_view bytes) {
  return crc64_ecma_refl(before,
                         reinterpret_cast<const unsigned char*>(bytes.data()),
                         bytes.size());
}

uint32_t OwnChecksum(const JpegIndex::Key& key, absl::string_view entries) {
  return static_cast<uint32_t>(Checksum(key.checksum ^ key.bytes, entries));
}

JpegIndex::Key KeyOf(const Record& record) {
  return {record.checksum, record.picture_bytes};
}

}  // namespace

// The file in memory.
class JpegIndex::Map {
 public:
  // Null, with a reason, if the file is damaged; null without one if there is
  // none.
  static absl::StatusOr<std::unique_ptr<Map>> Open(const std::string& path,
                                                   std::string* problem) {
    const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (fd.get() < 0) return nullptr;
    struct stat info;
    if (fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": is no file for an index"));
    }
    const auto size = static_cast<size_t>(info.st_size);
    if (size == 0) return nullptr;
    void* const memory =
        mmap(nullptr, size, PROT_READ, MAP_SHARED, fd.get(), 0);
    if (memory == MAP_FAILED) {
      return absl::UnavailableError(absl::StrCat(path, ": cannot be mapped"));
    }
    std::unique_ptr<Map> map(new Map(static_cast<const char*>(memory), size));
    if (size < kMagicBytes ||
        std::memcmp(memory, kMagic, sizeof(kMagic)) != 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          path, ": is no index of JPEG files; remove it or name another file"));
    }
    uint64_t count = 0;
    if (size >= kMagicBytes + sizeof(count)) {
      std::memcpy(&count, map->data_ + kMagicBytes, sizeof(count));
    }
    if (size < kMagicBytes + sizeof(count) ||
        count > (size - kMagicBytes - sizeof(count)) / sizeof(Record)) {
      *problem = absl::StrCat(path, ": is cut off and is made anew");
      return nullptr;
    }
    map->records_ = reinterpret_cast<const Record*>(map->data_ + kMagicBytes +
                                                    sizeof(count));
    map->count_ = count;
    return map;
  }
  ~Map() { munmap(const_cast<char*>(data_), size_); }

  absl::optional<absl::string_view> Find(const Key& key) const {
    const Record* const end = records_ + count_;
    const Record* const found = std::lower_bound(
        records_, end, key, [](const Record& record, const Key& wanted) {
          return feedrate::KeyOf(record) < wanted;
        });
    return found == end ? absl::nullopt : Entries(*found, key);
  }

  uint64_t count() const { return count_; }
  const Record& record(uint64_t index) const { return records_[index]; }

  // Nothing if the record is of another picture, or damaged.
  absl::optional<absl::string_view> Entries(const Record& record,
                                            const Key& key) const {
    const Key own = feedrate::KeyOf(record);
    if (own < key || key < own || record.offset > size_ ||
        record.bytes > size_ - record.offset) {
      return absl::nullopt;
    }
    const absl::string_view entries(data_ + record.offset, record.bytes);
    if (OwnChecksum(key, entries) != record.own_checksum) return absl::nullopt;
    return entries;
  }

 private:
  Map(const char* data, size_t size) : data_(data), size_(size) {}
  const char* const data_;
  const size_t size_;
  const Record* records_ = nullptr;
  uint64_t count_ = 0;
};

JpegIndex::JpegIndex(std::string path) : path_(std::move(path)) {}

JpegIndex::~JpegIndex() = default;

absl::StatusOr<std::unique_ptr<JpegIndex>> JpegIndex::Open(
    const std::string& path) {
  std::unique_ptr<JpegIndex> index(new JpegIndex(path));
  ASSIGN_OR_RETURN(index->map_, Map::Open(path, &index->problem_));
  if (index->map_ == nullptr &&
      access(ParentFolder(path).c_str(), W_OK | X_OK) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": cannot be written: ", std::strerror(errno),
                     "; name another file for the index"));
  }
  return index;
}

JpegIndex::Key JpegIndex::KeyOf(absl::string_view bytes) {
  return {Checksum(0, bytes), bytes.size()};
}

absl::optional<absl::string_view> JpegIndex::Find(const Key& key) const {
  if (map_ != nullptr) {
    const auto found = map_->Find(key);
    if (found.has_value()) return found;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto added = added_.find(key);
  if (added == added_.end()) return absl::nullopt;
  return absl::string_view(added->second);
}

void JpegIndex::Add(const Key& key, std::string entries) {
  const std::lock_guard<std::mutex> lock(mutex_);
  is_saved_ = !added_.emplace(key, std::move(entries)).second && is_saved_;
}

int64_t JpegIndex::size() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<int64_t>((map_ == nullptr ? 0 : map_->count()) +
                              added_.size());
}

absl::Status JpegIndex::Save() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (is_saved_) return absl::OkStatus();
  // One process at a time; what it finds is complete, as files are replaced in
  // one step.
  const std::string folder = ParentFolder(path_);
  const UniqueFd folder_fd(open(folder.c_str(), O_RDONLY | O_CLOEXEC));
  if (folder_fd.get() >= 0) flock(folder_fd.get(), LOCK_EX);
  std::string ignored;
  ASSIGN_OR_RETURN(const std::unique_ptr<Map> now, Map::Open(path_, &ignored));
  std::map<Key, absl::string_view> all;
  for (uint64_t i = 0; now != nullptr && i < now->count(); ++i) {
    const Key key = feedrate::KeyOf(now->record(i));
    const auto entries = now->Entries(now->record(i), key);
    if (entries.has_value()) all.emplace(key, *entries);
  }
  for (const auto& [key, entries] : added_) all.emplace(key, entries);
  std::string head(kMagicBytes, '\0');
  std::memcpy(head.data(), kMagic, sizeof(kMagic));
  const uint64_t count = all.size();
  head.append(reinterpret_cast<const char*>(&count), sizeof(count));
  uint64_t offset = head.size() + count * sizeof(Record);
  for (const auto& [key, entries] : all) {
    const Record record = {key.checksum, key.bytes, offset,
                           static_cast<uint32_t>(entries.size()),
                           OwnChecksum(key, entries)};
    head.append(reinterpret_cast<const char*>(&record), sizeof(record));
    offset += entries.size();
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<NewFile> file, NewFile::Create(path_));
  RETURN_IF_ERROR(WriteAll(file->fd(), head, path_));
  constexpr size_t kPiece = 1 << 20;
  std::string piece;
  for (const auto& [key, entries] : all) {
    piece.append(entries.data(), entries.size());
    if (piece.size() < kPiece) continue;
    RETURN_IF_ERROR(WriteAll(file->fd(), piece, path_));
    piece.clear();
  }
  RETURN_IF_ERROR(WriteAll(file->fd(), piece, path_));
  RETURN_IF_ERROR(file->Commit());
  is_saved_ = true;
  return absl::OkStatus();
}

}  // namespace feedrate
