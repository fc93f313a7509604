#include "lib/records/record_io.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "lib/base/allowed_sizes.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"

namespace feedrate {
namespace {

// The capacity of a pipe; one read never returns more.
constexpr size_t kChunk = 1 << 16;
// The start of every record. Quotes in text are escaped and no field is called
// `record`, so it occurs nowhere else in a record.
constexpr absl::string_view kRecordStart = "{\"schema\":1,\"record\":\"";
static_assert(kSchemaVersion == 1, "kRecordStart names another version");

absl::Status CannotRead(const std::string& name) {
  const int error = errno;
  const std::string text =
      absl::StrCat(name, ": cannot read: ", std::strerror(error));
  if (error == EISDIR) return absl::InvalidArgumentError(text);
  return absl::UnavailableError(text);
}

}  // namespace

absl::Status RecordReader::ReadFile(const std::string& path) {
  if (path == "-") return ReadDescriptor(STDIN_FILENO, "standard input");
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return absl::NotFoundError(
        absl::StrCat(path, ": cannot open: ", std::strerror(errno)));
  }
  absl::Status status = CheckHasEnd(path, fd);
  if (status.ok()) status = ReadDescriptor(fd, path);
  close(fd);
  return status;
}

void RecordReader::StartFile() {
  line_number_ = 0;
  complaints_ = 0;
}

void RecordReader::FinishFile(const std::string& name) {
  const int64_t more = complaints_ - most_complaints_;
  if (more <= 0) return;
  complain_(absl::StrCat(name, ": ", more, " more broken ",
                         more == 1 ? "line" : "lines"));
}

void RecordReader::Report(const std::string& problem) {
  if (++complaints_ <= most_complaints_) complain_(problem);
}

void RecordReader::ReadNextLine(absl::string_view line, const std::string& name,
                                bool is_unfinished) {
  ReadLine(line, absl::StrCat(name, ":", ++line_number_), is_unfinished);
}

void RecordReader::ReadText(absl::string_view text, const std::string& name) {
  StartFile();
  while (!text.empty()) {
    const size_t end = text.find('\n');
    ReadNextLine(text.substr(0, end), name, end == text.npos);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  FinishFile(name);
}

absl::Status RecordReader::ReadDescriptor(int fd, const std::string& name) {
  std::string pending;
  StartFile();
  for (;;) {
    const size_t scanned = pending.size();
    pending.resize(scanned + kChunk);
    const ssize_t got = read(fd, &pending[scanned], kChunk);
    pending.resize(scanned + (got > 0 ? static_cast<size_t>(got) : 0));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return CannotRead(name);
    if (got == 0) break;
    if (line_number_ == 0 && scanned == 0) {
      RETURN_IF_ERROR(CheckNotCompressed(name, pending));
    }
    size_t start = 0;
    for (size_t end = pending.find('\n', scanned); end != std::string::npos;
         end = pending.find('\n', start)) {
      ReadNextLine(absl::string_view(pending).substr(start, end - start), name,
                   false);
      start = end + 1;
    }
    pending.erase(0, start);
  }
  if (!pending.empty()) ReadNextLine(pending, name, true);
  FinishFile(name);
  return absl::OkStatus();
}

void RecordReader::ReadLine(absl::string_view line, const std::string& place,
                            bool is_unfinished) {
  // The byte order mark with which some editors begin a file.
  absl::ConsumePrefix(&line, "\xEF\xBB\xBF");
  if (absl::StripAsciiWhitespace(line).empty()) return;
  const absl::Status status = TryLine(line);
  if (status.ok()) return;
  const int rescued = Rescue(line);
  if (is_unfinished && rescued == 0) {
    ++torn_lines_;
    Report(absl::StrCat(place, ": skipped the torn last line"));
    return;
  }
  ++broken_lines_;
  if (rescued > 0) {
    ++rescued_lines_;
  } else if (absl::StrContains(line, "\"record\"")) {
    ++refused_records_;
  }
  std::string problem = absl::StrCat(place, ": ", status.message());
  if (rescued > 0) {
    absl::StrAppend(&problem, "; it holds ", rescued,
                    rescued == 1 ? " record, which is" : " records, which are",
                    " read");
  }
  Report(problem);
}

absl::Status RecordReader::TryLine(absl::string_view line) {
  ASSIGN_OR_RETURN(const std::string record, reader_.Open(line));
  return handler_(record, reader_);
}

int RecordReader::Rescue(absl::string_view line) {
  size_t start = line.find(kRecordStart);
  int rescued = 0;
  while (start != absl::string_view::npos) {
    const size_t next = line.find(kRecordStart, start + 1);
    const absl::string_view piece = line.substr(start, next - start);
    // The line as a whole was tried before.
    if (piece.size() < line.size() && TryLine(piece).ok()) ++rescued;
    start = next;
  }
  return rescued;
}

namespace {

// Larger writes are not faster; smaller ones cost more system calls.
constexpr size_t kFull = 1 << 16;

}  // namespace

absl::Status RecordWriter::Write(const google::protobuf::Message& record) {
  AppendRecord(record, &buffer_);
  if (flush_ == Flush::kWhenFull && buffer_.size() < kFull) {
    return absl::OkStatus();
  }
  return Finish();
}

absl::Status RecordWriter::WriteText(absl::string_view text) {
  absl::StrAppend(&buffer_, text);
  return Finish();
}

absl::Status RecordWriter::Finish() {
  absl::string_view rest = buffer_;
  while (!rest.empty()) {
    const ssize_t written = write(fd_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const int error = errno;
      // What is written must not be written again by the next call.
      buffer_ = std::string(rest);
      return absl::UnavailableError(absl::StrCat(
          name_, ": cannot write: ", std::strerror(error),
          error == EFBIG ? "; raise the limit on the size of files (ulimit -f)"
                         : ""));
    }
    rest.remove_prefix(static_cast<size_t>(written));
  }
  buffer_.clear();
  return absl::OkStatus();
}

}  // namespace feedrate
