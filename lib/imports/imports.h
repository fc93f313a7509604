// Reads results of other benchmark harnesses as rows.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/records/row.pb.h"

namespace feedrate {

// The label of rows that an Importer made.
inline constexpr char kImportedLabel[] = "imported";
// The machine profile of rows whose file does not name the machine.
inline constexpr char kUnstatedMachine[] = "unstated";

bool IsImported(const Row& row);

// The names of harnesses, as --import takes them.
const std::vector<std::string>& ImportNames();

// The harness that wrote a text, judged by its first 64 KiB. Empty if it is
// none that can be told by its content: our own records, or anything else.
std::string DetectHarness(absl::string_view text);

// The same for the beginning of a file, or the first result in a folder. Takes
// what ReadPath takes. For `-`, looks at standard input without reading it,
// where that is a pipe or a file. Empty if nothing can be read.
// With `wanted`, looks for the first result of that harness in a folder.
std::string DetectHarnessOfPath(const std::string& path,
                                const std::string& wanted = "");

// Returns all of standard input.
absl::StatusOr<std::string> ReadStandardInput();

// The flags --import and --import-parameters.
struct ImportChoice {
  // One of ImportNames, or empty to detect it for each file.
  std::string harness;
  // Columns of tables that are parameters; all other numbers are results.
  // {"none"}: none of them is. Empty: the values tell, and a table in which
  // they do not is refused.
  std::vector<std::string> parameters;
};

// Makes rows of results. A row stands for what the harness itself repeats: a
// repetition, a process, a fork. Its `mode` is the harness, `transform` the
// benchmark, `settings` the parameters, `samples_s` the raw times in seconds
// per iteration and `counters` whatever else was counted. `summary` takes the
// place of samples that the file does not have. The job_id comes from harness,
// name and parameters.
//
// Runs are numbered across files, so that several files may hold runs of the
// same benchmark. Not thread-safe.
class Importer {
 public:
  using AddRow = std::function<absl::Status(const Row&)>;

  // `machine` is the profile of rows whose file does not name the machine.
  Importer(ImportChoice choice, AddRow add,
           std::string machine = kUnstatedMachine)
      : harness_(std::move(choice.harness)),
        parameters_(std::move(choice.parameters)),
        add_(std::move(add)),
        machine_(std::move(machine)) {}

  // Reads a file, a folder or standard input (`-`). In a folder, reads all
  // files below it that are results. In a folder of criterion, reads the last
  // results, or with `FOLDER:NAME` those of the baseline NAME. InvalidArgument,
  // with file and place, if something is not a result.
  absl::Status ReadPath(const std::string& path);

  // Reads the content of one file. Looks at other files only if `name` is a
  // path and `may_read_files`: asv keeps names of parameters beside the
  // results, nvbench samples.
  absl::Status ReadText(const std::string& name, absl::string_view content,
                        bool may_read_files);

  // Results that are not times, such as memory or failed fits; they are left
  // out.
  int64_t left_out() const { return left_out_; }
  // Rows whose file does not name the machine.
  int64_t unstated() const { return unstated_; }

 private:
  friend class RowSink;
  // `padded_end` is the end of `content` if bytes after it are readable, as
  // simdjson needs it, else null.
  absl::Status ReadContent(const std::string& name, absl::string_view content,
                           bool may_read_files, const char* padded_end);
  absl::Status ReadFolder(const std::string& folder,
                          const std::string& baseline);

  const std::string harness_;
  const std::vector<std::string> parameters_;
  const AddRow add_;
  const std::string machine_;
  // By job_id.
  absl::flat_hash_map<std::string, int32_t> runs_;
  // Files so far. Rows of one file are of one execution: `run_id` is its
  // number.
  int64_t files_ = 0;
  int64_t left_out_ = 0;
  int64_t unstated_ = 0;
};

}  // namespace feedrate
