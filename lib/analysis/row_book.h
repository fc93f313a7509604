// Rows as coverage needs them: one small state a run, whatever rows come.
#ifndef FEEDRATE_LIB_ANALYSIS_ROW_BOOK_H_
#define FEEDRATE_LIB_ANALYSIS_ROW_BOOK_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "lib/analysis/planned_jobs.h"
#include "lib/analysis/row_settings.h"
#include "lib/analysis/string_pool.h"
#include "lib/records/records.pb.h"

namespace feedrate {

// The last attempt at one run.
struct RunState {
  int32_t run_index = 0;
  int32_t attempt = 0;
  // Of the texts.
  uint32_t status = 0;
  uint32_t reason = 0;
  // What in the row's identity is not the job's. 0: nothing.
  uint32_t difference = 0;
  uint32_t run_id = 0;
  uint32_t env_id = 0;
  uint32_t hardware_class = 0;
  uint32_t file = 0;
  uint32_t line = 0;
  // Of the settings.
  uint32_t settings = 0;
  // Bytes that one item is at least. 0: unknown.
  float item_bytes = 0;
  // throughput / limit. 0: no limit.
  float of_limit = 0;
  bool noop = false;
  // A time, rate or count of an `ok` row is not above 0.
  bool zero = false;
  bool other_batch = false;
  double throughput = 0;
  // Over throughput, elapsed time and samples.
  uint64_t numbers = 0;
  // Over all that is kept, to choose between rows in any order.
  uint64_t content = 0;
};

// What is known of a machine.
struct MachineFacts {
  bool has_gpu = false;
  int usable_cores = 0;
};

// Rows that stand for the same attempt at the same run.
struct Ties {
  std::vector<uint32_t> settings;  // Each once.
  // False: they are copies of each other.
  bool numbers_differ = false;
  int64_t rows = 1;
};

// Rows that would be of a job, were it not for their settings.
struct StrayRows {
  bool other_batch = false;
  int64_t rows = 0;
  // The first in the order of places.
  std::string place;
};

class RowBook {
 public:
  // `jobs` outlives the book. Only rows of `machine_profile` count, unless it
  // is empty.
  RowBook(const PlannedJobs& jobs, std::string machine_profile)
      : jobs_(jobs),
        machine_profile_(std::move(machine_profile)),
        runs_(jobs.size()) {}

  // `item_bytes`: what one item of the row is at least, 0 when unknown.
  void AddRow(const Row& row, float item_bytes, const std::string& file,
              int64_t line);
  void AddRun(const Run& run);
  void AddEnv(const Env& env);

  // The runs of a job that have rows, by index. A run on the CPU of a GPU
  // machine stands beside the one on a CPU machine.
  const std::vector<RunState>& runs(int job) const { return runs_[job]; }
  // Null: one row is all there is.
  const Ties* FindTies(int job, const RunState& run) const;
  // By job and what is different, as in PlannedJobs::Difference.
  const std::map<std::pair<int, std::string>, StrayRows>& strays() const {
    return strays_;
  }

  const std::string& Text(uint32_t id) const { return texts_.Text(id); }
  const RowSettings& settings() const { return settings_; }
  // `file:line` of the run's row.
  std::string Place(const RunState& run) const;
  // 0: not measured, or no such run.
  double CopyBytesPerS(const RunState& run) const;
  // Null: no `env` record of this machine was read.
  const MachineFacts* Machine(const RunState& run) const;

  int64_t rows() const { return rows_; }
  int64_t unplanned_rows() const { return unplanned_rows_; }
  int64_t replaced_rows() const { return replaced_rows_; }

 private:
  RunState StateOf(int job, const Row& row, float item_bytes);
  void AddUnplanned(const Row& row, const std::string& file, int64_t line);
  void Keep(int job, const RunState& state);
  uint64_t KeyOf(int job, const RunState& run) const;
  bool IsHost(const RunState& run) const;

  const PlannedJobs& jobs_;
  const std::string machine_profile_;
  std::vector<std::vector<RunState>> runs_;
  absl::flat_hash_map<uint64_t, Ties> ties_;
  std::map<std::pair<int, std::string>, StrayRows> strays_;
  StringPool texts_;
  RowSettings settings_;
  absl::flat_hash_map<uint32_t, double> copy_bytes_per_s_;
  absl::flat_hash_map<uint32_t, MachineFacts> machines_;
  int64_t rows_ = 0;
  int64_t unplanned_rows_ = 0;
  int64_t replaced_rows_ = 0;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_ROW_BOOK_H_
