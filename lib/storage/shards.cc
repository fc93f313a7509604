#include "lib/storage/shards.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/base/status_macros.h"
#include "lib/storage/checksum.h"
#include "lib/tar/builder.h"
#include "lib/tar/header.h"
#include "lib/tar/reader.h"
#include "lib/tar/status.h"

namespace feedrate {
namespace {

constexpr absl::string_view kHead = "feedrate-shard-index 1";
constexpr absl::string_view kFoot = "crc32c\t";

absl::Status Broken(size_t line) {
  return absl::DataLossError(
      absl::StrCat("line ", line, " of the index is damaged"));
}

bool ParseHead(absl::string_view line, ShardIndex* index) {
  const std::vector<absl::string_view> parts = absl::StrSplit(line, '\t');
  return parts.size() == 3 && absl::SimpleAtoi(parts[1], &index->bytes) &&
         absl::SimpleHexAtoi(parts[2], &index->crc32c);
}

bool ParseMember(absl::string_view line, int64_t shard_bytes,
                 ShardMember* member) {
  const std::vector<absl::string_view> parts = absl::StrSplit(line, '\t');
  uint32_t crc32c = 0;
  if (parts.size() != 4 || !absl::SimpleAtoi(parts[0], &member->offset) ||
      !absl::SimpleAtoi(parts[1], &member->bytes) ||
      !absl::SimpleHexAtoi(parts[2], &crc32c)) {
    return false;
  }
  member->crc32c = crc32c;
  member->name = std::string(parts[3]);
  return member->offset >= 0 && member->bytes >= 0 &&
         member->offset <= shard_bytes &&
         member->bytes <= shard_bytes - member->offset;
}

}  // namespace

std::string PrintShardIndex(const ShardIndex& index) {
  std::string text =
      absl::StrFormat("%s\t%d\t%08x\n", kHead, index.bytes, index.crc32c);
  for (const ShardMember& member : index.members) {
    absl::StrAppendFormat(&text, "%d\t%d\t%08x\t%s\n", member.offset,
                          member.bytes, *member.crc32c, member.name);
  }
  absl::StrAppendFormat(&text, "%s%08x\n", kFoot, Crc32c(text));
  return text;
}

absl::StatusOr<ShardIndex> ParseShardIndex(absl::string_view text) {
  if (!absl::StartsWith(text, absl::StrCat(kHead, "\t"))) {
    return absl::InvalidArgumentError("is no index of a shard");
  }
  const size_t foot = text.rfind(kFoot);
  uint32_t crc32c = 0;
  if (foot == text.npos || !absl::EndsWith(text, "\n") ||
      !absl::SimpleHexAtoi(
          absl::StripSuffix(text.substr(foot + kFoot.size()), "\n"), &crc32c) ||
      crc32c != Crc32c(text.substr(0, foot))) {
    return absl::DataLossError("the index is damaged, or cut off");
  }
  ShardIndex index;
  size_t number = 0;
  for (const absl::string_view line :
       absl::StrSplit(text.substr(0, foot), '\n', absl::SkipEmpty())) {
    const bool good =
        number++ == 0
            ? ParseHead(line, &index)
            : ParseMember(line, index.bytes, &index.members.emplace_back());
    if (!good) return Broken(number);
  }
  return index;
}

std::string SampleKey(const std::string& member) {
  const size_t slash = member.rfind('/');
  return member.substr(0,
                       member.find('.', slash == member.npos ? 0 : slash + 1));
}

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
                     "; make it again with pipeline --make_shards"));
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

namespace {

// The name length that fits a plain header. Longer names, and names that are
// not ASCII, go into an extended header.
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

namespace {

// Bytes that are read at once: enough for many connections.
constexpr int64_t kAtOnce = int64_t{64} << 20;

}  // namespace

absl::StatusOr<ShardTotals> MakeShards(
    const std::vector<ObjectInfo>& objects, const std::string& folder,
    int64_t shard_bytes, ObjectStore* store,
    const std::function<void(int64_t done, int64_t total)>& progress) {
  // Checked before anything is read, so that a bad name does not end hours of
  // work.
  for (const ObjectInfo& object : objects) {
    RETURN_IF_ERROR(MemberName(object.name).status());
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<ShardWriter> writer,
                   ShardWriter::Create(folder, shard_bytes));
  std::vector<std::string> contents;
  for (size_t begin = 0, end; begin < objects.size(); begin = end) {
    end = EndOfRun(objects, begin, kAtOnce);
    RETURN_IF_ERROR(ReadObjects(objects, begin, end, store, &contents));
    for (size_t i = begin; i < end; ++i) {
      RETURN_IF_ERROR(writer->Add(objects[i].name, contents[i - begin]));
    }
    if (progress) {
      progress(static_cast<int64_t>(end), static_cast<int64_t>(objects.size()));
    }
  }
  RETURN_IF_ERROR(writer->Finish());
  ShardTotals totals;
  totals.shards = writer->shards();
  totals.samples = writer->samples();
  totals.bytes = writer->bytes();
  return totals;
}

}  // namespace feedrate
