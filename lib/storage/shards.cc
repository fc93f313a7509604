#include "lib/storage/shards.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/base/allowed_sizes.h"
#include "lib/base/files.h"
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
    return absl::InvalidArgumentError("is not the index of a shard");
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
  request.object_bytes = object.bytes;
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
  DatasetSize size;
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
          RETURN_IF_ERROR(size.Add(
              entry.path,
              std::min(static_cast<int64_t>(entry.size), kMaxObjectBytes),
              sizeof(ShardMember)));
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
    // Programs that unpack "a//b.jpg" would replace "a/b.jpg" by it.
    if (part.empty()) return BadName(object, "has \"//\"");
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

namespace {

// Bytes that are read at once: enough for many connections.
constexpr int64_t kAtOnce = int64_t{64} << 20;
constexpr int64_t kEndBytes = 2 * tar::kBlockSize;

// What a shard will have: objects [begin, end) as `members`, without sums.
struct ShardPlan {
  size_t begin = 0;
  size_t end = 0;
  int64_t bytes = 0;
  std::vector<ShardMember> members;
};

absl::StatusOr<std::vector<ShardPlan>> PlanShards(
    const std::vector<ObjectInfo>& objects, int64_t shard_bytes) {
  std::vector<ShardPlan> plans;
  // In all shards, with the last number that was behind each. Names that
  // differ in dots have one key, and there may be millions of them.
  std::unordered_map<std::string, int> keys;
  for (size_t i = 0; i < objects.size(); ++i) {
    ASSIGN_OR_RETURN(std::string name, MemberName(objects[i].name));
    const std::string key = SampleKey(name);
    std::string free = key;
    if (const auto known = keys.find(key); known != keys.end()) {
      int& last = known->second;
      do {
        free = absl::StrCat(key, "_", ++last);
      } while (keys.count(free) > 0);
    }
    keys.emplace(free, 1);
    name = absl::StrCat(free, name.substr(key.size()));
    const int64_t bytes = objects[i].bytes;
    const auto header = static_cast<int64_t>(HeaderOf(name, bytes).size());
    const auto padding = static_cast<int64_t>(tar::PaddingAfter(bytes));
    if (plans.empty() ||
        plans.back().bytes + header + bytes + padding > shard_bytes) {
      plans.push_back({i, i, kEndBytes, {}});
    }
    ShardPlan& plan = plans.back();
    plan.members.push_back(
        {name, plan.bytes - kEndBytes + header, bytes, std::nullopt});
    plan.bytes += header + bytes + padding;
    plan.end = i + 1;
  }
  return plans;
}

// The object that a shard becomes, and its sum so far.
struct OpenShard {
  absl::Status Write(absl::string_view bytes) {
    index.crc32c = Crc32c(bytes, index.crc32c);
    index.bytes += static_cast<int64_t>(bytes.size());
    return file->Write(bytes);
  }

  std::unique_ptr<ObjectUpload> file;
  ShardIndex index;
};

absl::Status WriteShard(const std::string& name, const ShardPlan& plan,
                        const std::vector<ObjectInfo>& objects,
                        ObjectStore* store, ObjectWriter* writer,
                        const std::function<void(size_t done)>& progress) {
  OpenShard shard;
  ASSIGN_OR_RETURN(shard.file, writer->Start(name));
  std::vector<std::string> contents;
  for (size_t begin = plan.begin, end; begin < plan.end; begin = end) {
    end = std::min(plan.end, EndOfRun(objects, begin, kAtOnce));
    RETURN_IF_ERROR(ReadObjects(objects, begin, end, store, &contents));
    for (size_t i = begin; i < end; ++i) {
      ShardMember member = plan.members[i - plan.begin];
      const std::string& bytes = contents[i - begin];
      RETURN_IF_ERROR(shard.Write(HeaderOf(member.name, member.bytes)));
      RETURN_IF_ERROR(shard.Write(bytes));
      RETURN_IF_ERROR(shard.Write(Zeros(tar::PaddingAfter(bytes.size()))));
      member.crc32c = Crc32c(bytes);
      shard.index.members.push_back(std::move(member));
    }
    progress(end);
  }
  RETURN_IF_ERROR(shard.Write(Zeros(kEndBytes)));
  RETURN_IF_ERROR(shard.file->Commit());
  ASSIGN_OR_RETURN(const std::unique_ptr<ObjectUpload> index,
                   writer->Start(absl::StrCat(name, kShardIndexEnding)));
  RETURN_IF_ERROR(index->Write(PrintShardIndex(shard.index)));
  return index->Commit();
}

bool HasMembers(const std::vector<ShardMember>& members,
                const ShardPlan& plan) {
  return std::equal(
      members.begin(), members.end(), plan.members.begin(), plan.members.end(),
      [](const ShardMember& a, const ShardMember& b) {
        return a.name == b.name && a.offset == b.offset && a.bytes == b.bytes;
      });
}

// Whether the shard is there already, with its index.
absl::StatusOr<bool> IsThere(const std::string& name, const ShardPlan& plan,
                             ObjectStore* target) {
  const absl::StatusOr<ObjectInfo> shard = target->Stat(name);
  if (absl::IsNotFound(shard.status())) return false;
  RETURN_IF_ERROR(shard.status());
  const absl::StatusOr<ObjectInfo> index =
      target->Stat(absl::StrCat(name, kShardIndexEnding));
  std::vector<std::string> text;
  if (index.ok()) {
    RETURN_IF_ERROR(ReadObjects({*index}, 0, 1, target, &text));
  } else if (!absl::IsNotFound(index.status())) {
    return index.status();
  }
  const auto members =
      index.ok() ? MembersByIndex(*shard, *index, text[0])
                 : absl::StatusOr<std::vector<ShardMember>>(plan.members);
  if (shard->bytes == plan.bytes && members.ok() &&
      HasMembers(*members, plan)) {
    return index.ok();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(target->url(), "/", name,
                   ": is there already, with other samples; name another "
                   "prefix, or remove it"));
}

}  // namespace

absl::StatusOr<ShardTotals> MakeShards(
    const std::vector<ObjectInfo>& objects, int64_t shard_bytes,
    ObjectStore* store, ObjectWriter* writer, ObjectStore* target,
    const std::function<void(int64_t done, int64_t total)>& progress) {
  // All names are checked before anything is read, so that a bad one does not
  // end hours of work.
  ASSIGN_OR_RETURN(const std::vector<ShardPlan> plans,
                   PlanShards(objects, shard_bytes));
  const auto tell = [&](size_t done) {
    if (progress == nullptr) return;
    progress(static_cast<int64_t>(done), static_cast<int64_t>(objects.size()));
  };
  ShardTotals totals;
  for (const ShardPlan& plan : plans) {
    const std::string name = ShardName(totals.shards++);
    bool is_there = false;
    if (target != nullptr) {
      ASSIGN_OR_RETURN(is_there, IsThere(name, plan, target));
    }
    if (is_there) {
      ++totals.kept;
      tell(plan.end);
    } else {
      RETURN_IF_ERROR(WriteShard(name, plan, objects, store, writer, tell));
    }
    totals.samples += static_cast<int64_t>(plan.members.size());
    totals.bytes += plan.bytes;
  }
  return totals;
}

absl::StatusOr<ShardTotals> MakeShards(
    const std::vector<ObjectInfo>& objects, const std::string& folder,
    int64_t shard_bytes, ObjectStore* store,
    const std::function<void(int64_t done, int64_t total)>& progress) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ObjectWriter> writer,
                   NewFolderWriter(folder));
  const std::string first = JoinPath(folder, ShardName(0));
  if (IsFile(first)) {
    // What a killed run has left is made again; anything else stays.
    ASSIGN_OR_RETURN(const std::unique_ptr<ObjectStore> target,
                     OpenFileStore(folder));
    ASSIGN_OR_RETURN(const std::vector<ShardPlan> plans,
                     PlanShards(objects, shard_bytes));
    bool all = true;
    for (size_t i = 0; i < plans.size(); ++i) {
      ASSIGN_OR_RETURN(
          const bool is_there,
          IsThere(ShardName(static_cast<int64_t>(i)), plans[i], target.get()));
      all = all && is_there;
    }
    if (all) {
      return absl::InvalidArgumentError(
          absl::StrCat(first, ": is there already; name an empty folder"));
    }
  }
  return MakeShards(objects, shard_bytes, store, writer.get(), nullptr,
                    progress);
}

namespace {

class FileUpload : public ObjectUpload {
 public:
  explicit FileUpload(std::unique_ptr<NewFile> file) : file_(std::move(file)) {}

  absl::Status Write(absl::string_view bytes) override {
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
  absl::Status Commit() override { return file_->Commit(); }

 private:
  const std::unique_ptr<NewFile> file_;
};

class FolderWriter : public ObjectWriter {
 public:
  explicit FolderWriter(std::string folder) : folder_(std::move(folder)) {}

  absl::StatusOr<std::unique_ptr<ObjectUpload>> Start(
      const std::string& name) override {
    ASSIGN_OR_RETURN(std::unique_ptr<NewFile> file,
                     NewFile::Create(JoinPath(folder_, name)));
    return std::make_unique<FileUpload>(std::move(file));
  }

 private:
  const std::string folder_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ObjectWriter>> NewFolderWriter(
    const std::string& folder) {
  RETURN_IF_ERROR(MakeFolder(folder));
  return std::make_unique<FolderWriter>(folder);
}

}  // namespace feedrate
