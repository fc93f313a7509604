#include "lib/records/record_reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"

namespace feedrate {
namespace {

constexpr size_t kChunk = 1 << 20;
// How every record starts; what the writer prints is what we search for.
constexpr absl::string_view kRecordStart = "{\"schema\":";

absl::Status CannotRead(const std::string& name) {
  return absl::UnavailableError(
      absl::StrCat(name, ": cannot read: ", std::strerror(errno)));
}

}  // namespace

absl::Status RecordReader::ReadFile(const std::string& path) {
  if (path == "-") return ReadDescriptor(STDIN_FILENO, "standard input");
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return absl::NotFoundError(
        absl::StrCat(path, ": cannot open: ", std::strerror(errno)));
  }
  absl::Status status = ReadDescriptor(fd, path);
  close(fd);
  return status;
}

absl::Status RecordReader::ReadDescriptor(int fd, const std::string& name) {
  std::string pending;
  line_number_ = 0;
  for (;;) {
    const size_t scanned = pending.size();
    pending.resize(scanned + kChunk);
    const ssize_t got = read(fd, &pending[scanned], kChunk);
    pending.resize(scanned + (got > 0 ? static_cast<size_t>(got) : 0));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return CannotRead(name);
    if (got == 0) break;
    size_t start = 0;
    for (size_t end = pending.find('\n', scanned); end != std::string::npos;
         end = pending.find('\n', start)) {
      ++line_number_;
      ReadLine(absl::string_view(pending).substr(start, end - start), name,
               false);
      start = end + 1;
    }
    pending.erase(0, start);
  }
  if (!pending.empty()) {
    ++line_number_;
    ReadLine(pending, name, true);
  }
  return absl::OkStatus();
}

void RecordReader::ReadLine(absl::string_view line, const std::string& name,
                            bool is_unfinished) {
  if (absl::StripAsciiWhitespace(line).empty()) return;
  const absl::Status status = TryLine(line);
  if (status.ok()) return;
  const std::string place = absl::StrCat(name, ":", line_number_);
  const bool rescued = RescueEnd(line);
  if (is_unfinished && !rescued) {
    ++torn_lines_;
    complain_(absl::StrCat(place, ": skipped the torn last line"));
    return;
  }
  ++broken_lines_;
  if (rescued) ++rescued_lines_;
  complain_(absl::StrCat(place, ": ", status.message(),
                         rescued ? "; read the record at its end" : ""));
}

absl::Status RecordReader::TryLine(absl::string_view line) {
  ASSIGN_OR_RETURN(const std::string record, reader_.Open(line));
  return handler_(record, reader_);
}

bool RecordReader::RescueEnd(absl::string_view line) {
  const size_t start = line.rfind(kRecordStart);
  if (start == absl::string_view::npos || start == 0) return false;
  return TryLine(line.substr(start)).ok();
}

}  // namespace feedrate
