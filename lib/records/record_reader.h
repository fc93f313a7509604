// A stream of records: a file or a pipe, line by line.
#ifndef FEEDRATE_LIB_RECORDS_RECORD_READER_H_
#define FEEDRATE_LIB_RECORDS_RECORD_READER_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"
#include "lib/records/json_reader.h"

namespace feedrate {

// Goes through records without ever losing a good one:
// - a torn last line (no newline, not parseable: its writer died) is skipped
//   with a warning;
// - a line that is broken otherwise is named with file and line, and the
//   reading goes on;
// - when a writer died in a line and another appended to it, the whole
//   records in that line are read all the same.
class RecordReader {
 public:
  // What to do with one record. It may call `reader.Read` to fill a message
  // of the type that `record` names. An error it returns counts as a broken
  // line.
  using Handler =
      std::function<absl::Status(absl::string_view record, JsonReader& reader)>;
  // Gets each problem as one line for a person, place included.
  using Complain = std::function<void(const std::string&)>;

  RecordReader(Handler handler, Complain complain)
      : handler_(std::move(handler)), complain_(std::move(complain)) {}

  // Reads all of `path`; `-` is standard input. Fails only when the stream
  // itself cannot be read. May be called for many files in turn.
  absl::Status ReadFile(const std::string& path);

  // Reads from an open descriptor; `name` is for messages.
  absl::Status ReadDescriptor(int fd, const std::string& name);

  // Reads one line, without its newline, that the caller cut out of `place`.
  // `is_unfinished`: it had none.
  void ReadLine(absl::string_view line, const std::string& place,
                bool is_unfinished);

  // Lines that were neither a record nor a torn end, in all files so far.
  int64_t broken_lines() const { return broken_lines_; }
  // Torn last lines in all files so far.
  int64_t torn_lines() const { return torn_lines_; }
  // Broken lines of which the record at the end could be read.
  int64_t rescued_lines() const { return rescued_lines_; }
  // The line that a handler or complaint is about, from 1.
  int64_t line_number() const { return line_number_; }

 private:
  absl::Status TryLine(absl::string_view line);
  // Reads the whole records in a line that is none. Returns how many.
  int Rescue(absl::string_view line);

  const Handler handler_;
  const Complain complain_;
  JsonReader reader_;
  int64_t broken_lines_ = 0;
  int64_t torn_lines_ = 0;
  int64_t rescued_lines_ = 0;
  int64_t line_number_ = 0;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RECORDS_RECORD_READER_H_
