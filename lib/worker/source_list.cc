#include "lib/worker/source_list.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "lib/base/memory_file.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/worker/message.h"

namespace feedrate {
namespace {

constexpr char kFileList[] = "list of files";

SourceFileLine LineOf(const SourceFile& file) {
  SourceFileLine line;
  line.set_path(file.path);
  line.set_bytes(file.bytes);
  line.mutable_frames()->Assign(file.frames.begin(), file.frames.end());
  if (!file.part.has_value()) return line;
  line.set_offset(file.part->offset);
  line.set_version(file.part->version);
  line.set_checksum(file.part->checksum);
  line.set_member(file.part->member);
  if (file.part->crc32c.has_value()) line.set_crc32c(*file.part->crc32c);
  return line;
}

// JSON has no other text, and would name another file.
bool IsUtf8(absl::string_view text) {
  char32_t c = 0;
  while (!text.empty()) {
    if (!TakeCharacter(&text, &c)) return false;
  }
  return true;
}

SourceFile FileOf(const SourceFileLine& line) {
  SourceFile file = {
      line.path(), line.bytes(), {line.frames().begin(), line.frames().end()}};
  if (!line.has_offset()) return file;
  ObjectPart& part = file.part.emplace();
  part.offset = line.offset();
  part.version = line.version();
  part.checksum = line.checksum();
  part.member = line.member();
  if (line.has_crc32c()) part.crc32c = static_cast<uint32_t>(line.crc32c());
  return file;
}

}  // namespace

absl::StatusOr<UniqueFd> WriteSourceList(const std::vector<SourceFile>& files) {
  std::string text;
  for (const SourceFile& file : files) {
    if (!IsUtf8(file.path)) {
      return absl::InvalidArgumentError(
          absl::StrCat(PrintableText(file.path),
                       ": its name is not UTF-8; rename the file or folder"));
    }
    absl::StrAppend(&text, ReplyLine(LineOf(file)));
  }
  return WriteMemoryFile(text, kFileList);
}

absl::StatusOr<std::vector<SourceFile>> ReadSourceList(int fd) {
  ASSIGN_OR_RETURN(const std::string text, ReadMemoryFile(fd, kFileList));
  std::vector<SourceFile> files;
  for (const absl::string_view line :
       absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const auto read = ParseReply<SourceFileLine>(line);
    if (!read.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", files.size() + 1, " of the ", kFileList, ": ",
                       read.status().message()));
    }
    files.push_back(FileOf(*read));
  }
  if (!files.empty()) return files;
  return absl::InvalidArgumentError(
      absl::StrCat("the ", kFileList, " is empty"));
}

}  // namespace feedrate
