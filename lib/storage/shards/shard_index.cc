#include "lib/storage/shards/shard_index.h"

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/storage/crc32c.h"

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

}  // namespace feedrate
