#include "lib/worker/source_list.h"

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
#include "lib/worker/memory_file.h"

namespace feedrate {
namespace {

constexpr char kList[] = "list of files";

}  // namespace

absl::StatusOr<UniqueFd> WriteSourceList(const std::vector<SourceFile>& files) {
  std::string text;
  for (const SourceFile& file : files) {
    JsonLine line;
    line.Text("path", file.path).Int("bytes", file.bytes);
    if (!file.frames.empty()) line.Ints("frames", file.frames);
    absl::StrAppend(&text, line.Line());
  }
  return WriteMemoryFile(text, kList);
}

absl::StatusOr<std::vector<SourceFile>> ReadSourceList(int fd) {
  ASSIGN_OR_RETURN(const std::string text, ReadMemoryFile(fd, kList));
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
    if (read.ok()) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "line ", files.size(), " of the ", kList, ": ", read.message()));
  }
  if (!files.empty()) return files;
  return absl::InvalidArgumentError(absl::StrCat("the ", kList, " is empty"));
}

}  // namespace feedrate
