#include "lib/records/record_writer.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"
#include "lib/records/json_writer.h"

namespace feedrate {
namespace {

// Larger writes gain nothing any more; smaller ones cost system calls.
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
      return absl::UnavailableError(
          absl::StrCat(name_, ": cannot write: ", std::strerror(errno)));
    }
    rest.remove_prefix(static_cast<size_t>(written));
  }
  buffer_.clear();
  return absl::OkStatus();
}

}  // namespace feedrate
