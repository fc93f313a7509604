#include "lib/worker/source_list.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "lib/base/memory_file.h"
#include "lib/base/status_macros.h"
#include "lib/worker/json_line.h"

namespace feedrate {
namespace {

constexpr char kFileList[] = "list of files";

void PrintPart(const ObjectPart& part, JsonLine* line) {
  line->Add("offset", part.offset)
      .Add("version", part.version)
      .Add("checksum", part.checksum)
      .Add("member", part.member);
  if (part.crc32c.has_value()) line->Add("crc32c", int64_t{*part.crc32c});
}

absl::Status ReadPart(const JsonFields& json, ObjectPart* part) {
  RETURN_IF_ERROR(json.ReadAmount("offset", &part->offset));
  RETURN_IF_ERROR(json.Read("version", &part->version));
  RETURN_IF_ERROR(json.Read("checksum", &part->checksum));
  RETURN_IF_ERROR(json.Read("member", &part->member));
  if (!json.Has("crc32c")) return absl::OkStatus();
  int64_t crc32c = 0;
  RETURN_IF_ERROR(json.ReadAmount("crc32c", &crc32c));
  part->crc32c = static_cast<uint32_t>(crc32c);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<UniqueFd> WriteSourceList(const std::vector<SourceFile>& files) {
  std::string text;
  for (const SourceFile& file : files) {
    JsonLine line;
    line.Add("path", file.path).Add("bytes", file.bytes);
    if (!file.frames.empty()) line.Add("frames", file.frames);
    if (file.part.has_value()) PrintPart(*file.part, &line);
    absl::StrAppend(&text, line.Line());
  }
  return WriteMemoryFile(text, kFileList);
}

absl::StatusOr<std::vector<SourceFile>> ReadSourceList(int fd) {
  ASSIGN_OR_RETURN(const std::string text, ReadMemoryFile(fd, kFileList));
  std::vector<SourceFile> files;
  for (const absl::string_view line :
       absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    JsonObject json;
    SourceFile& file = files.emplace_back();
    absl::Status read = json.Open(line);
    if (read.ok()) read = json.Read("path", &file.path);
    if (read.ok()) read = json.ReadAmount("bytes", &file.bytes);
    if (read.ok() && json.Has("frames")) {
      read = json.Read("frames", &file.frames);
    }
    if (read.ok() && json.Has("offset")) {
      read = ReadPart(json, &file.part.emplace());
    }
    if (read.ok()) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "line ", files.size(), " of the ", kFileList, ": ", read.message()));
  }
  if (!files.empty()) return files;
  return absl::InvalidArgumentError(
      absl::StrCat("the ", kFileList, " is empty"));
}

}  // namespace feedrate
