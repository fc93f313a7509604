// Reads and writes streams of records, one per line, in files and pipes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"
#include "lib/records/json.h"

namespace feedrate {

// Reads records without ever losing a good one:
// - a torn last line (no newline and not parseable, because its writer died) is
//   skipped with a warning;
// - any other broken line is reported with file and line number, and reading
//   goes on;
// - when a writer died in the middle of a line and another writer appended to
//   it, the complete records in that line are still read.
class RecordReader {
 public:
  // Called for each record. It may call `reader.Read` to fill a message of the
  // type that `record` names. If it returns an error, the line counts as
  // broken.
  using Handler =
      std::function<absl::Status(absl::string_view record, JsonReader& reader)>;
  // Called with each problem as one line of text for people, with file and line
  // number.
  using Complain = std::function<void(const std::string&)>;

  // Complaints about one file, after which the rest is only counted: a file of
  // another kind may have millions of lines.
  static constexpr int64_t kMostComplaints = 5;

  RecordReader(Handler handler, Complain complain,
               int64_t most_complaints = kMostComplaints)
      : handler_(std::move(handler)),
        complain_(std::move(complain)),
        most_complaints_(most_complaints) {}

  // Reads all of `path`; `-` is standard input. Fails only when the stream
  // itself cannot be read. May be called for several files.
  absl::Status ReadFile(const std::string& path);

  // Reads from an open descriptor. `name` is used in messages.
  absl::Status ReadDescriptor(int fd, const std::string& name);

  // Reads all lines of `text`. `name` is used in messages.
  void ReadText(absl::string_view text, const std::string& name);

  // Reads one line without its newline. `place` is used in messages.
  // `is_unfinished` means the line had no newline.
  void ReadLine(absl::string_view line, const std::string& place,
                bool is_unfinished);

  // Number of broken lines, other than torn last lines, in all files so far.
  int64_t broken_lines() const { return broken_lines_; }
  // Those of them that name a record and hold none that could be read: rows
  // that are refused, while other lines may be a log.
  int64_t refused_records() const { return refused_records_; }
  // Number of torn last lines in all files so far.
  int64_t torn_lines() const { return torn_lines_; }
  // Number of broken lines with a record that could still be read.
  int64_t rescued_lines() const { return rescued_lines_; }
  // The current line number, from 1, for handlers and complaints.
  int64_t line_number() const { return line_number_; }

 private:
  void StartFile();
  void FinishFile(const std::string& name);
  void ReadNextLine(absl::string_view line, const std::string& name,
                    bool is_unfinished);
  void Report(const std::string& problem);
  absl::Status TryLine(absl::string_view line);
  // Reads the complete records in a broken line. Returns how many there were.
  int Rescue(absl::string_view line);

  const Handler handler_;
  const Complain complain_;
  const int64_t most_complaints_;
  JsonReader reader_;
  int64_t complaints_ = 0;  // About the current file.
  int64_t broken_lines_ = 0;
  int64_t refused_records_ = 0;
  int64_t torn_lines_ = 0;
  int64_t rescued_lines_ = 0;
  int64_t line_number_ = 0;
};

// Writes records to an open descriptor, which it does not own. Every write ends
// at the end of a line, so the reader of a pipe, or of a file after a crash,
// sees only complete records, however the process ends. Not thread-safe.
class RecordWriter {
 public:
  enum class Flush {
    // For runners: each row is written before the next job starts.
    kEachRecord,
    // For programs that write many records at once.
    kWhenFull,
  };

  // `name` is used in messages.
  RecordWriter(int fd, std::string name, Flush flush)
      : fd_(fd), name_(std::move(name)), flush_(flush) {}
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;

  absl::Status Write(const google::protobuf::Message& record);
  // Appends text that ends in a newline, such as a table.
  absl::Status WriteText(absl::string_view text);
  // Writes what is left in the buffer. Must be called at the end; the
  // destructor does not do it, because it could not report an error.
  absl::Status Finish();

 private:
  const int fd_;
  const std::string name_;
  const Flush flush_;
  std::string buffer_;
};

}  // namespace feedrate
