#include "lib/loader/jpeg_index.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "isa-l/crc64.h"
#include "lib/base/files.h"
#include "lib/base/private_folder.h"
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

// Whoever owns the folder may change what is in it, as is so for the data.
absl::Status CheckOwner(const std::string& path, const struct stat& info) {
  struct stat folder;
  const bool is_owned = info.st_uid == geteuid() || info.st_uid == 0 ||
                        (stat(ParentFolder(path).c_str(), &folder) == 0 &&
                         info.st_uid == folder.st_uid);
  if (is_owned && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      path, is_owned ? ": others can write to it" : ": belongs to another user",
      ", so it is not trusted; remove it or name another file"));
}

}  // namespace

// The file, whose entries are read when they are wanted: memory of a file that
// somebody cuts off would end the process.
class JpegIndex::File {
 public:
  // Null, with a reason, if the file is damaged; null without one if there is
  // none.
  static absl::StatusOr<std::unique_ptr<File>> Open(const std::string& path,
                                                    std::string* problem) {
    const absl::StatusOr<int64_t> plain = PlainFileBytes(path);
    if (absl::IsNotFound(plain.status())) return nullptr;
    RETURN_IF_ERROR(plain.status());
    std::unique_ptr<File> file(
        new File(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)));
    struct stat info;
    if (!file->fd_.valid() || fstat(file->fd_.get(), &info) != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": cannot be read: ", std::strerror(errno),
                       "; name another file for the index"));
    }
    RETURN_IF_ERROR(CheckOwner(path, info));
    file->size_ = static_cast<uint64_t>(info.st_size);
    if (file->size_ == 0) return nullptr;
    char magic[kMagicBytes];
    if (!file->Read(0, sizeof(magic), magic) ||
        std::memcmp(magic, kMagic, sizeof(kMagic)) != 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          path,
          ": is not an index of JPEG files; remove it or name another file"));
    }
    if (!file->ReadRecords()) {
      *problem = absl::StrCat(path, ": is damaged and is made anew");
      return nullptr;
    }
    return file;
  }

  absl::optional<std::string> Find(const Key& key) const {
    const auto found =
        std::lower_bound(records_.begin(), records_.end(), key,
                         [](const Record& record, const Key& wanted) {
                           return feedrate::KeyOf(record) < wanted;
                         });
    return found == records_.end() ? absl::nullopt : Entries(*found, key);
  }

  const std::vector<Record>& records() const { return records_; }

  // Nothing if the record is of another picture, or damaged.
  absl::optional<std::string> Entries(const Record& record,
                                      const Key& key) const {
    const Key own = feedrate::KeyOf(record);
    if (own < key || key < own || record.offset > size_ ||
        record.bytes > size_ - record.offset) {
      return absl::nullopt;
    }
    std::string entries(record.bytes, '\0');
    if (!Read(record.offset, entries.size(), entries.data()) ||
        OwnChecksum(key, entries) != record.own_checksum) {
      return absl::nullopt;
    }
    return entries;
  }

 private:
  explicit File(int fd) : fd_(fd) {}

  // False if there are fewer bytes.
  bool Read(uint64_t offset, size_t bytes, void* out) const {
    char* to = static_cast<char*>(out);
    while (bytes > 0) {
      const ssize_t got =
          pread(fd_.get(), to, bytes, static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      to += got;
      offset += static_cast<uint64_t>(got);
      bytes -= static_cast<size_t>(got);
    }
    return true;
  }

  // False unless all are there, each picture once and in its place.
  bool ReadRecords() {
    uint64_t count = 0;
    const uint64_t begin = kMagicBytes + sizeof(count);
    if (size_ < begin || !Read(kMagicBytes, sizeof(count), &count) ||
        count > (size_ - begin) / sizeof(Record)) {
      return false;
    }
    constexpr uint64_t kPiece = 1 << 16;
    for (uint64_t at = 0; at < count; at += kPiece) {
      const size_t before = records_.size();
      records_.resize(before + std::min(kPiece, count - at));
      if (!Read(begin + at * sizeof(Record),
                (records_.size() - before) * sizeof(Record),
                &records_[before])) {
        return false;
      }
      for (size_t i = std::max<size_t>(before, 1); i < records_.size(); ++i) {
        if (!(feedrate::KeyOf(records_[i - 1]) <
              feedrate::KeyOf(records_[i]))) {
          return false;
        }
      }
    }
    return true;
  }

  const UniqueFd fd_;
  uint64_t size_ = 0;
  std::vector<Record> records_;
};

JpegIndex::JpegIndex(std::string path) : path_(std::move(path)) {}

JpegIndex::~JpegIndex() = default;

absl::StatusOr<std::unique_ptr<JpegIndex>> JpegIndex::Open(
    const std::string& path) {
  std::unique_ptr<JpegIndex> index(new JpegIndex(path));
  ASSIGN_OR_RETURN(index->file_, File::Open(path, &index->problem_));
  if (index->file_ == nullptr &&
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

JpegIndex::Key JpegIndex::KeyOfPlace(absl::string_view place) {
  return {Checksum(0, place), place.size() | uint64_t{1} << 63};
}

absl::optional<std::string> JpegIndex::Find(const Key& key) const {
  if (file_ != nullptr) {
    absl::optional<std::string> found = file_->Find(key);
    if (found.has_value()) return found;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto added = added_.find(key);
  if (added == added_.end()) return absl::nullopt;
  return added->second;
}

void JpegIndex::Add(const Key& key, std::string entries) {
  const std::lock_guard<std::mutex> lock(mutex_);
  is_saved_ = !added_.emplace(key, std::move(entries)).second && is_saved_;
}

int64_t JpegIndex::size() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<int64_t>((file_ == nullptr ? 0 : file_->records().size()) +
                              added_.size());
}

absl::Status JpegIndex::Save() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (is_saved_) return absl::OkStatus();
  // One process at a time; what it finds is complete, as files are replaced in
  // one step.
  ASSIGN_OR_RETURN(const UniqueFd held, LockFolder(ParentFolder(path_)));
  std::string ignored;
  ASSIGN_OR_RETURN(const std::unique_ptr<File> now,
                   File::Open(path_, &ignored));
  // Those of the file stay there until they are written: there may be many.
  struct Entries {
    const std::string* added = nullptr;
    const Record* record = nullptr;
  };
  std::map<Key, Entries> all;
  if (now != nullptr) {
    for (const Record& record : now->records()) {
      const Key key = feedrate::KeyOf(record);
      if (now->Entries(record, key).has_value()) all[key].record = &record;
    }
  }
  for (const auto& [key, entries] : added_) {
    Entries& one = all[key];
    if (one.record == nullptr) one.added = &entries;
  }
  std::string head(kMagicBytes, '\0');
  std::memcpy(head.data(), kMagic, sizeof(kMagic));
  const uint64_t count = all.size();
  head.append(reinterpret_cast<const char*>(&count), sizeof(count));
  uint64_t offset = head.size() + count * sizeof(Record);
  for (const auto& [key, entries] : all) {
    Record record;
    if (entries.record != nullptr) {
      record = *entries.record;
    } else {
      record = {key.checksum, key.bytes, 0,
                static_cast<uint32_t>(entries.added->size()),
                OwnChecksum(key, *entries.added)};
    }
    record.offset = offset;
    head.append(reinterpret_cast<const char*>(&record), sizeof(record));
    offset += record.bytes;
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<NewFile> file, NewFile::Create(path_));
  RETURN_IF_ERROR(WriteAll(file->fd(), head, path_));
  constexpr size_t kPiece = 1 << 20;
  std::string piece;
  for (const auto& [key, entries] : all) {
    // One that has changed meanwhile has another checksum.
    piece += entries.added != nullptr
                 ? *entries.added
                 : now->Entries(*entries.record, key)
                       .value_or(std::string(entries.record->bytes, '\0'));
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
