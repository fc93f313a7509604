// The formats of the harnesses, for lib/imports/imports.cc.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/imports/imports.h"
#include "lib/records/job.pb.h"
#include "lib/records/row.pb.h"

namespace feedrate {

// Completes rows and hands them on.
class RowSink {
 public:
  RowSink(Importer* importer, std::string harness, std::string name,
          bool may_read_files, const char* padded_end = nullptr)
      : name_(std::move(name)),
        may_read_files_(may_read_files),
        padded_end_(padded_end),
        harness_(std::move(harness)),
        importer_(importer) {}

  // A row with what all rows of a harness share. Valid until the next call.
  Row* Start();

  // Sets times and numbers the run. `seconds` are the samples, each per
  // iteration; `iterations` is the number of iterations of them all. A row
  // without a time above 0 is of status `failed`.
  absl::Status Add(absl::Span<const double> seconds, double iterations);
  // The same without samples. Absent numbers of the summary are 0.
  absl::Status AddSummary(const SampleSummary& summary);
  // A row of another status than `ok`.
  absl::Status AddStatus(const std::string& status, const std::string& reason);

  // Counts a result that is not a time.
  void LeaveOut() { ++importer_->left_out_; }

  // Names where the values come from that are read next, such as `runs[2]`.
  void At(absl::string_view place) { place_ = std::string(place); }
  // Remembers what is wrong with a value there; the first one counts. No row is
  // added any more, and ReadText and its kin return it.
  void Refuse(absl::string_view what) { problem_.Update(Error(place_, what)); }
  const absl::Status& problem() const { return problem_; }

  // An InvalidArgument error at a place of the file.
  absl::Status Error(absl::string_view place, absl::string_view what) const;

  const std::string& name() const { return name_; }
  bool may_read_files() const { return may_read_files_; }
  // Columns of a table that are parameters, as the user says.
  const std::vector<std::string>& parameters() const {
    return importer_->parameters_;
  }
  // Where the file's content ends if bytes after it are readable, else null.
  const char* padded_end() const { return padded_end_; }

 private:
  absl::Status Finish();

  const std::string name_;
  const bool may_read_files_;
  const char* const padded_end_;
  const std::string harness_;
  Importer* const importer_;
  std::string place_;
  absl::Status problem_;
  Row row_;
  // The identity of the last row, and its id.
  Job last_;
  std::string last_id_;
};

// Adds a counter under a name that --metric and --where take: letters, digits
// and `_`; `B/op` becomes `B_per_op`. Ignores what is not a finite number.
void AddCounter(absl::string_view name, double value, Row* row);

// The name of a machine: its parts in lower case, without spaces, joined by
// `_`; empty parts are left out.
std::string MachineName(const std::vector<std::string>& parts);

// Seconds per `unit`, such as `ns`, `ms` or `sec`; 0 for anything that is not a
// unit of time.
double SecondsOf(absl::string_view unit);

// Any time with a zone as RFC 3339 in UTC; empty if it is none.
std::string UtcTime(absl::string_view text);

// Formats of JSON (json_harnesses.cc).
absl::Status ReadJson(const std::string& harness, absl::string_view content,
                      RowSink* sink);
// criterion's files in one folder: `benchmark.json` names the benchmark and may
// be empty; of the other two, one may be empty.
absl::Status ReadCriterion(const std::string& path, absl::string_view benchmark,
                           absl::string_view estimates,
                           absl::string_view samples, RowSink* sink);
// Tables (csv_harnesses.cc): any with a header, or nvbench's.
absl::Status ReadCsv(absl::string_view content, bool is_nvbench, RowSink* sink);
// Formats of text (text_harnesses.cc): go, catch2, csv, and nvbench as CSV.
absl::Status ReadText(const std::string& harness, absl::string_view content,
                      RowSink* sink);
// Whether a header of CSV has a column of times.
bool IsTimedHeader(absl::string_view line);

}  // namespace feedrate
