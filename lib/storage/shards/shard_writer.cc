#include "lib/storage/shards/shard_writer.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/storage/crc32c.h"
#include "lib/tar/builder.h"
#include "lib/tar/header.h"

namespace feedrate {
namespace {

// What a plain header has room for; beyond, and for letters that are not ASCII,
// an extended header has the name.
constexpr size_t kPlainName = 99;
constexpr size_t kLongestName = 4000;

// The member's headers, without its data.
std::string HeaderOf(const std::string& name, int64_t bytes) {
  bool plain = name.size() <= kPlainName;
  for (const char c : name) plain = plain && absl::ascii_isascii(c);
  tar::Builder builder;
  if (!plain) builder.Pax("path", name);
  return builder.Add(tar::MakeHeader('0', plain ? name : "long", bytes), "")
      .bytes();
}

std::string Zeros(uint64_t count) { return std::string(count, '\0'); }

std::string ShardName(int64_t shard) {
  return absl::StrFormat("shard-%06d.tar", shard);
}

absl::Status BadName(const std::string& object, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("\"", absl::CHexEscape(object), "\" ", why,
                   " and cannot go into a shard; rename it"));
}

}  // namespace

absl::StatusOr<std::string> MemberName(const std::string& object) {
  for (const unsigned char c : object) {
    if (absl::ascii_iscntrl(c)) return BadName(object, "has control letters");
  }
  for (const absl::string_view part : absl::StrSplit(object, '/')) {
    if (part == "..") return BadName(object, "has \"..\"");
  }
  if (object.size() > kLongestName) return BadName(object, "is too long");
  const size_t slash = object.rfind('/');
  const size_t begin = slash == object.npos ? 0 : slash + 1;
  const size_t dot = object.rfind('.');
  if (dot == object.npos || dot <= begin || dot + 1 == object.size()) {
    return BadName(object, "has no ending such as .jpg");
  }
  std::string name = object;
  for (size_t i = begin; i < dot; ++i) {
    if (name[i] == '.') name[i] = '_';
  }
  return name;
}

absl::StatusOr<std::unique_ptr<ShardWriter>> ShardWriter::Create(
    const std::string& folder, int64_t shard_bytes) {
  RETURN_IF_ERROR(MakeFolder(folder));
  const std::string first = JoinPath(folder, ShardName(0));
  if (IsFile(first)) {
    return absl::InvalidArgumentError(
        absl::StrCat(first, ": is there already; name an empty folder"));
  }
  return std::unique_ptr<ShardWriter>(new ShardWriter(folder, shard_bytes));
}

absl::Status ShardWriter::Write(absl::string_view bytes) {
  index_.crc32c = Crc32c(bytes, index_.crc32c);
  index_.bytes += static_cast<int64_t>(bytes.size());
  bytes_ += static_cast<int64_t>(bytes.size());
  while (!bytes.empty()) {
    const ssize_t count = write(file_->fd(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      return absl::ResourceExhaustedError(absl::StrCat(
          file_->path(), ": cannot write: ", std::strerror(errno)));
    }
    bytes.remove_prefix(count);
  }
  return absl::OkStatus();
}

absl::Status ShardWriter::Add(const std::string& object,
                              absl::string_view bytes) {
  ASSIGN_OR_RETURN(std::string name, MemberName(object));
  const std::string key = SampleKey(name);
  std::string free = key;
  for (int i = 2; !keys_.insert(free).second; ++i) {
    free = absl::StrCat(key, "_", i);
  }
  name = absl::StrCat(free, name.substr(key.size()));
  const int64_t size = static_cast<int64_t>(bytes.size());
  const std::string header = HeaderOf(name, size);
  const int64_t padding = static_cast<int64_t>(tar::PaddingAfter(size));
  const int64_t end = 2 * tar::kBlockSize;
  if (file_ != nullptr && index_.bytes + static_cast<int64_t>(header.size()) +
                                  size + padding + end >
                              shard_bytes_) {
    RETURN_IF_ERROR(EndShard());
  }
  if (file_ == nullptr) {
    ASSIGN_OR_RETURN(file_,
                     NewFile::Create(JoinPath(folder_, ShardName(shards_))));
    index_ = ShardIndex();
  }
  RETURN_IF_ERROR(Write(header));
  index_.members.push_back({name, index_.bytes, size, Crc32c(bytes)});
  RETURN_IF_ERROR(Write(bytes));
  ++samples_;
  return Write(Zeros(padding));
}

absl::Status ShardWriter::EndShard() {
  RETURN_IF_ERROR(Write(Zeros(2 * tar::kBlockSize)));
  const std::string path = file_->path();
  RETURN_IF_ERROR(file_->Commit());
  file_ = nullptr;
  ++shards_;
  return WriteFileAtomically(absl::StrCat(path, kShardIndexEnding),
                             PrintShardIndex(index_));
}

absl::Status ShardWriter::Finish() {
  return file_ == nullptr ? absl::OkStatus() : EndShard();
}

}  // namespace feedrate
