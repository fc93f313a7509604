// Where the records of a run go.
#ifndef FEEDRATE_LIB_RUNNER_ROW_OUTPUT_H_
#define FEEDRATE_LIB_RUNNER_ROW_OUTPUT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/base/unique_fd.h"
#include "lib/records/record_io.h"
#include "lib/records/records.pb.h"

namespace feedrate {

// Writes each record as one whole line, at once. A file has one writer: both
// would measure the same runs and give them the same attempt. Not thread-safe.
class RowOutput {
 public:
  struct Options {
    // `-`: standard output. A folder, or a name that ends in `/`: a file with
    // the job's own name for each library, and the resolved config. Else a
    // file.
    std::string path = "-";
    // Files that are there are appended to; their torn last line is repaired.
    // Without it a file that holds anything is AlreadyExists. One that another
    // runner writes to is Unavailable.
    bool resume = false;
    // Written as resolved_config.textproto into a folder. Empty: not known.
    std::string config;
    std::function<void(const std::string&)> warn;
    // Where batch records go. Empty: to the rows of standard output, else to
    // batch_times.jsonl beside the file of the rows.
    std::string batches;
    // Hears of each row once it is written. Optional.
    std::function<void(const Row&)> on_row;
  };

  static absl::StatusOr<std::unique_ptr<RowOutput>> Open(
      const Options& options);

  // Files that are there, for `--resume` to read.
  absl::StatusOr<std::vector<std::string>> ExistingFiles() const;
  // Every file gets both before its first row. Nothing is written yet.
  void SetHead(const Env& env, const Run& run);
  // `file` is the job's `output`.
  absl::Status Write(const Row& row, const std::string& file);

  // Records of a mixture's batches. `file` is the job's `output`.
  absl::Status WriteBatches(const std::vector<Batch>& batches,
                            const std::string& file);

  // Instead of records, for what is no row. A folder gets it as `verify.txt`.
  absl::Status WriteText(const std::string& text);

  // Rows written, by status.
  const std::map<std::string, int64_t>& counts() const { return counts_; }

 private:
  struct File {
    UniqueFd fd;
    std::unique_ptr<RecordWriter> writer;
  };

  explicit RowOutput(Options options) : options_(std::move(options)) {}
  absl::StatusOr<RecordWriter*> WriterOf(const std::string& file);
  absl::StatusOr<RecordWriter*> WriterAt(const std::string& path);
  std::string PathOf(const std::string& file) const;
  absl::Status OpenFile(const std::string& path, File* file) const;

  const Options options_;
  bool is_folder_ = false;
  Env env_;
  Run run_;
  std::map<std::string, File> files_;
  std::map<std::string, int64_t> counts_;
};

// Makes the file end with a whole line: a last line without its newline gets
// one when it is a record, and is cut off when it is not, which `warn` hears.
absl::Status RepairLastLine(
    const std::string& path,
    const std::function<void(const std::string&)>& warn);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_ROW_OUTPUT_H_
