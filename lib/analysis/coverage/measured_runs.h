// The rows that check_coverage has read, reduced to one small state per run,
// however many rows there are.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "lib/analysis/coverage/planned_jobs.h"
#include "lib/records/env.pb.h"
#include "lib/records/job.pb.h"
#include "lib/records/row.pb.h"

namespace feedrate {

// Stores each text once and numbers them in the order in which they come. 0 is
// the empty text.
class StringPool {
 public:
  StringPool() { Id(""); }

  uint32_t Id(absl::string_view text) {
    const auto known = ids_.find(text);
    if (known != ids_.end()) return known->second;
    texts_.emplace_back(text);
    const uint32_t id = static_cast<uint32_t>(texts_.size() - 1);
    ids_.emplace(texts_.back(), id);
    return id;
  }
  const std::string& Text(uint32_t id) const { return texts_[id]; }

 private:
  std::deque<std::string> texts_;  // Keeps the views in `ids_` alive.
  absl::flat_hash_map<absl::string_view, uint32_t> ids_;
};

// Numbers the combinations of settings of rows: what a row was measured with
// that its job does not say. There are few, however many rows there are. Rows
// of one job with different settings must not be mixed.
class RowSettings {
 public:
  static constexpr int kFields = 8;
  // Indexes of the values that other code reads.
  static constexpr int kMachineProfile = 0;
  static constexpr int kHardware = 3;
  using Values = std::array<std::string, kFields>;

  uint32_t Id(const Row& row);
  const Values& Get(uint32_t id) const { return values_[id]; }

  // The fields in which `ids` differ, such as `machine_profile (a, b),
  // library_version (1, 2)`; "" if there are none. Values missing from a row
  // are not compared. Does not depend on the order of `ids`.
  std::string Differences(const std::vector<uint32_t>& ids) const;

 private:
  std::string key_;
  std::vector<Values> values_;
  absl::flat_hash_map<std::string, uint32_t> ids_;
};

// The cleanest attempt at one run; the last of equally clean ones.
struct RunState {
  int32_t run_index = 0;
  int32_t attempt = 0;
  // See AttemptRank in lib/records/attempts.h.
  int32_t rank = 0;
  // What disturbed it, such as `contended, noisy`. 0 if nothing did.
  uint32_t disturbances = 0;
  // Numbers of texts, see MeasuredRuns::Text.
  uint32_t status = 0;
  uint32_t reason = 0;
  // How the row's identity differs from the job's. 0 if it does not.
  uint32_t difference = 0;
  uint32_t run_id = 0;
  uint32_t env_id = 0;
  uint32_t hardware_class = 0;
  uint32_t file = 0;
  uint32_t line = 0;
  // Number of the settings, see MeasuredRuns::settings.
  uint32_t settings = 0;
  // Lower bound of the bytes per item. 0 if unknown.
  float item_bytes = 0;
  // throughput / limit. 0 if there is no limit.
  float of_limit = 0;
  bool noop = false;
  // A time, rate or count of an `ok` row is 0 or negative.
  bool zero = false;
  bool other_batch = false;
  double throughput = 0;
  // Hash of throughput, elapsed time and samples.
  uint64_t numbers = 0;
  // Hash of everything kept, so that the choice between rows does not depend on
  // their order.
  uint64_t content = 0;
};

// What is known of a machine.
struct MachineFacts {
  bool has_gpu = false;
  int usable_cores = 0;
};

// Several rows of the attempt that counts. A row of the same attempt and
// settings that is less clean is none of them: it was measured again.
struct Ties {
  std::vector<uint32_t> settings;  // Each once.
  // If false, the rows are copies of each other.
  bool numbers_differ = false;
  int64_t rows = 1;
};

// Rows that would belong to a job if their settings were different.
struct StrayRows {
  bool other_batch = false;
  int64_t rows = 0;
  // The place that sorts first.
  std::string place;
};

class MeasuredRuns {
 public:
  // `jobs` must outlive this. Only rows of `machine_profile` count, unless it
  // is empty.
  MeasuredRuns(const PlannedJobs& jobs, std::string machine_profile)
      : jobs_(jobs),
        machine_profile_(std::move(machine_profile)),
        runs_(jobs.size()) {}

  // `item_bytes` is a lower bound of the bytes per item of the row, 0 if
  // unknown.
  void AddRow(const Row& row, float item_bytes, const std::string& file,
              int64_t line);
  void AddRun(const Run& run);
  void AddEnv(const Env& env);

  // The runs of a job that have rows, sorted by run index. A run on the CPU of
  // a GPU machine is kept separately from the one on a CPU machine.
  const std::vector<RunState>& runs(int job) const { return runs_[job]; }
  // Absent if there is only one row.
  absl::optional<Ties> FindTies(int job, const RunState& run) const;
  // Keyed by job and difference, see PlannedJobs::Difference.
  const std::map<std::pair<int, std::string>, StrayRows>& strays() const {
    return strays_;
  }

  const std::string& Text(uint32_t id) const { return texts_.Text(id); }
  const RowSettings& settings() const { return settings_; }
  // `file:line` of the run's row.
  std::string Place(const RunState& run) const;
  // Whether any row of the same start of the runner was disturbed. What the
  // runner measured there is then no bound either.
  bool WasDisturbed(const RunState& run) const {
    return disturbed_run_ids_.contains(run.run_id);
  }
  // Copy speed of the run's machine. 0 if not measured, if there is no `run`
  // record, or if it was disturbed.
  double CopyBytesPerS(const RunState& run) const;
  // Null if no `env` record of this machine was read.
  const MachineFacts* Machine(const RunState& run) const;

  int64_t rows() const { return rows_; }
  int64_t unplanned_rows() const { return unplanned_rows_; }
  // Number of rows that a cleaner, or else a later, attempt replaced.
  int64_t replaced_rows() const;

 private:
  // What is kept of each row of a run that has several.
  struct SeenRow {
    int32_t rank;
    int32_t attempt;
    uint32_t settings;
    uint64_t content;
  };

  static Ties TiesAmong(const std::vector<SeenRow>& rows);
  RunState StateOf(int job, const Row& row, float item_bytes);
  void AddUnplanned(const Row& row, const std::string& file, int64_t line);
  void Keep(int job, const RunState& state);
  uint64_t KeyOf(int job, const RunState& run) const;
  bool IsHost(const RunState& run) const;

  const PlannedJobs& jobs_;
  const std::string machine_profile_;
  std::vector<std::vector<RunState>> runs_;
  absl::flat_hash_map<uint64_t, std::vector<SeenRow>> several_;
  std::map<std::pair<int, std::string>, StrayRows> strays_;
  StringPool texts_;
  RowSettings settings_;
  absl::flat_hash_map<uint32_t, double> copy_bytes_per_s_;
  absl::flat_hash_set<uint32_t> disturbed_run_ids_;
  absl::flat_hash_map<uint32_t, MachineFacts> machines_;
  int64_t rows_ = 0;
  int64_t unplanned_rows_ = 0;
};

}  // namespace feedrate
