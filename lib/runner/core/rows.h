// Builds rows, and writes rows and the records before them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "lib/base/unique_fd.h"
#include "lib/machine/energy.h"
#include "lib/records/env.pb.h"
#include "lib/records/job.pb.h"
#include "lib/records/loader.pb.h"
#include "lib/records/record_io.h"
#include "lib/records/row.pb.h"

namespace feedrate {

class RunConfig;
struct FoundNoise;
struct MachineInfo;
struct RunResult;

// What all rows of a run share.
struct RunIdentity {
  std::string run_id;
  std::string env_id;
  std::string machine_profile;
  // Name of the processor.
  std::string hardware;
  // Name of the first GPU. Empty means none.
  std::string gpu;
  int64_t gpu_memory_bytes = 0;
  // The clock at which this run locked it. 0 means that it did not.
  int64_t locked_clock_mhz = 0;
  // See Row. Empty means none.
  std::string slurm_job_id;
  // Number of processors that this run may use, if these are not all of the
  // machine profile.
  std::optional<int32_t> usable_cpus;
};

// The `usable_cpus` of a row of this mode: work on one processor is the same
// however many there are.
std::optional<int32_t> UsableCpusOf(const RunIdentity& run,
                                    const std::string& mode);

// The Slurm job that this process is part of, by its environment. Empty if
// there is none.
std::string SlurmJobId();

// A row with the fields of the job and of the run, without a result. `unit`
// says what one item is.
Row RowOf(const Job& job, const RunIdentity& run, const std::string& unit);

// The failure of a training whose loss or gradients became infinite or no
// number.
absl::Status DivergedError(absl::string_view reason);

// What an error of lib/worker means: `failed`, `crashed`, `timeout`, `oom` or
// `diverged`.
std::string StatusOfFailure(const absl::Status& failure);

// Set the result of a row.
void SetFailure(const absl::Status& failure, Row* row);
void SetTiming(const RunResult& result, Row* row);
// Adds the warnings, and their causes if there are any.
void SetNoise(const FoundNoise& found, Row* row);
// Sets `energy` if any is known.
void SetEnergy(const EnergyUse& used, Row* row);

// Name of the limit when an engine of a GPU decodes, and the label of rows
// where the CPU decoded some frames instead.
inline constexpr char kEngineLimit[] = "nvdec";
inline constexpr char kCpuFallback[] = "cpu_fallback";

// A limit in items per second, measured the first time, and up to three times
// more when a row has `reached` more: the machine may have been busy. What the
// row has reached is then the limit if it is at most 5% higher. The highest
// value stays in `known`, where 0 means that there is no limit.
double LimitFor(double reached, const std::function<double()>& measure,
                std::optional<double>* known);

// Sets the most that the machine could reach, and how close the row came.
void SetLimit(const std::string& name, double throughput, Row* row);
// Sets samples and their quantiles.
void SetSamples(absl::Span<const double> samples, Row* row);

// RFC 3339, UTC, with milliseconds.
std::string TimeText(absl::Time time);

// Writes the records of a run, each as one whole line. A file has one writer at
// a time: two would measure the same runs and give them the same attempt. Not
// thread-safe.
class RowOutput {
 public:
  struct Options {
    // `-` is standard output. A folder, or a name that ends in `/`, gets one
    // file per library, named by the job, and the resolved config. Anything
    // else is a file.
    std::string path = "-";
    // Appends to existing files and repairs a torn last line. Without it, a
    // file that is not empty is AlreadyExists. A file that another program is
    // writing is Unavailable.
    bool resume = false;
    // Written to a folder as resolved_config.textproto. Empty means unknown.
    std::string config;
    std::function<void(const std::string&)> warn;
    // Where batch records go. Empty means among the rows on standard output, or
    // batch_times.jsonl beside the file with the rows; if another run wrote
    // that, NAME.batch_times.jsonl beside NAME.jsonl.
    std::string batches;
    // Called after each row is written. May be null.
    std::function<void(const Row&)> on_row;
    // Writes no records to standard output.
    bool discard = false;
  };

  static absl::StatusOr<std::unique_ptr<RowOutput>> Open(
      const Options& options);

  // Existing files, for `--resume` to read.
  absl::StatusOr<std::vector<std::string>> ExistingFiles() const;
  // Both records are written to each file before its first row. Writes nothing
  // yet.
  void SetHead(const Env& env, const Run& run);
  // `file` is the job's `output`.
  absl::Status Write(const Row& row, const std::string& file);

  // The same for an audit.
  absl::Status WriteAudit(const Audit& audit, const std::string& file);

  // Writes batch records of a mixture. `file` is the job's `output`.
  absl::Status WriteBatches(const std::vector<Batch>& batches,
                            const std::string& file);

  // Writes text instead of records. A folder gets it as `verify.txt`.
  absl::Status WriteText(const std::string& text);

 private:
  struct File {
    UniqueFd fd;
    std::unique_ptr<RecordWriter> writer;
  };

  explicit RowOutput(Options options) : options_(std::move(options)) {}
  absl::StatusOr<RecordWriter*> WriterOf(const std::string& file);
  absl::StatusOr<RecordWriter*> WriterAt(const std::string& path);
  std::string PathOf(const std::string& file) const;
  // Where the batches of the rows in this file go.
  std::string BatchesBeside(const std::string& rows);
  absl::Status OpenFile(const std::string& path, File* file) const;

  const Options options_;
  bool is_folder_ = false;
  Env env_;
  Run run_;
  std::map<std::string, File> files_;
};

// The records that are written before the rows.

struct RunHead {
  Env env;
  Run run;
  // Fields that every row repeats.
  RunIdentity identity;
};

// Records for a run that starts at `now` on `machine`, whose `libraries` are
// the measured ones. `config_text` is the config as it may be recorded.
RunHead MakeRunHead(const MachineInfo& machine, const RunConfig& config,
                    const std::string& config_text, double copy_bytes_per_s,
                    absl::Time now);

}  // namespace feedrate
