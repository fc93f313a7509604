#include "lib/worker/source_list.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"
#include "lib/base/unique_fd.h"
#include "lib/worker/json_line.h"
#include "lib/worker/json_object.h"

namespace feedrate {
namespace {

absl::Status NoMemoryFile(const char* what) {
  return absl::UnavailableError(
      absl::StrCat("cannot ", what, " a list of files: ", strerror(errno)));
}

void PrintPart(const ObjectPart& part, JsonLine* line) {
  line->Int("offset", part.offset)
      .Text("version", part.version)
      .Text("checksum", part.checksum)
      .Text("member", part.member);
  if (part.crc32c.has_value()) line->Int("crc32c", *part.crc32c);
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

absl::StatusOr<std::string> ReadAll(int fd) {
  std::string text;
  char block[1 << 16];
  for (;;) {
    const ssize_t got =
        pread(fd, block, sizeof(block), static_cast<off_t>(text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return NoMemoryFile("read");
    if (got == 0) return text;
    text.append(block, got);
  }
}

}  // namespace

absl::StatusOr<UniqueFd> WriteSourceList(const std::vector<SourceFile>& files) {
  std::string text;
  for (const SourceFile& file : files) {
    JsonLine line;
    line.Text("path", file.path).Int("bytes", file.bytes);
    if (!file.frames.empty()) line.Ints("frames", file.frames);
    if (file.part.has_value()) PrintPart(*file.part, &line);
    absl::StrAppend(&text, line.Line());
  }
  UniqueFd fd(memfd_create("feedrate files", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return NoMemoryFile("make");
  for (size_t done = 0; done < text.size();) {
    const ssize_t count =
        write(fd.get(), text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return NoMemoryFile("write");
    done += count;
  }
  if (fcntl(fd.get(), F_ADD_SEALS,
            F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return NoMemoryFile("seal");
  }
  return fd;
}

absl::StatusOr<std::vector<SourceFile>> ReadSourceList(int fd) {
  ASSIGN_OR_RETURN(const std::string text, ReadAll(fd));
  std::vector<SourceFile> files;
  for (const absl::string_view line :
       absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    JsonObject json;
    SourceFile& file = files.emplace_back();
    absl::Status read = json.Open(line);
    if (read.ok()) read = json.Read("path", &file.path);
    if (read.ok()) read = json.ReadAmount("bytes", &file.bytes);
    if (read.ok() && json.Has("frames")) {
      read = json.ReadList("frames", &file.frames);
    }
    if (read.ok() && json.Has("offset")) {
      read = ReadPart(json, &file.part.emplace());
    }
    if (read.ok()) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "line ", files.size(), " of the list of files: ", read.message()));
  }
  if (!files.empty()) return files;
  return absl::InvalidArgumentError("the list of files is empty");
}

}  // namespace feedrate
