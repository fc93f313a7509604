// Records into a file or a pipe, whole lines at a time.
#ifndef FEEDRATE_LIB_RECORDS_RECORD_WRITER_H_
#define FEEDRATE_LIB_RECORDS_RECORD_WRITER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"

namespace feedrate {

// Writes to an open descriptor, which it does not own. Every write ends at
// the end of a line, so a reader at the other end, or a file after a crash,
// has only whole records, however the process ends. Not thread-safe.
class RecordWriter {
 public:
  enum class Flush {
    // For runners: a row is out before the next job starts.
    kEachRecord,
    // For programs that write many records at once.
    kWhenFull,
  };

  // `name` is for messages.
  RecordWriter(int fd, std::string name, Flush flush)
      : fd_(fd), name_(std::move(name)), flush_(flush) {}
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;

  absl::Status Write(const google::protobuf::Message& record);
  // Appends text that ends in a newline, such as a table.
  absl::Status WriteText(absl::string_view text);
  // Writes what is left. To be called at the end; the destructor does not,
  // because it could not say that it failed.
  absl::Status Finish();

 private:
  const int fd_;
  const std::string name_;
  const Flush flush_;
  std::string buffer_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RECORDS_RECORD_WRITER_H_
