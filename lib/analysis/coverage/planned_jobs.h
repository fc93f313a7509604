// The jobs that a campaign must have rows for, from profiles and plans.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/records/job.pb.h"
#include "lib/records/row.pb.h"

namespace feedrate {

class Catalogue;

// Hardware class of jobs and rows on the CPU of a GPU machine.
inline constexpr char kHostCpu[] = "host_cpu";

// Where a job runs: its device, or `host_cpu`.
std::string PlaceOf(const Job& job);

// A short description of a job, such as `image-rgb micro augmentation_only cpu
// kornia Blur`, with the batch size if there is one.
std::string Subject(const Job& job);

// Jobs in the order of the plan, kept in the wire format: about 300 bytes each.
class PlannedJobs {
 public:
  // Adds a job, or only its runs if the job is already there. A job on a CPU
  // machine and the same job, with the same id, on the CPU of a GPU machine are
  // two.
  void Add(const Job& job);

  int size() const { return static_cast<int>(jobs_.size()); }
  // The job, with all its runs.
  Job Get(int index) const;
  // Sorted, without duplicates.
  const std::vector<int32_t>& runs(int index) const {
    return jobs_[index].runs;
  }
  bool HasRun(int index, int32_t run) const;
  int64_t total_runs() const;

  // The index of the row's job, or -1 if there is none: the one on the row's
  // kind of machine, else the one on the other kind.
  int Find(const Row& row) const;
  // For a row of no job: a job of the row's cell (the same library, transform,
  // scope, data, …), preferably with its batch size. -1 if there is none.
  int FindCell(const Row& row) const;

  // How the row's identity differs from that of job `index`, such as
  // `batch_size is 128, planned is 256`, with the batch size first; "" if it
  // does not. Texts missing from the row are not compared.
  std::string Difference(int index, const Row& row) const;

 private:
  struct Entry {
    std::string wire;  // Without runs and config.
    // Index in configs_, which jobs share.
    size_t config;
    std::vector<int32_t> runs;
    uint64_t identity;
  };

  std::vector<Entry> jobs_;
  // A plan comes from a few configs.
  std::vector<std::string> configs_;
  // By id, and whether the job runs on the CPU of a GPU machine.
  absl::flat_hash_map<std::pair<std::string, bool>, int> by_id_;
  // The first job of each cell, and of each batch size in it.
  absl::flat_hash_map<uint64_t, int> by_cell_;
  absl::flat_hash_map<uint64_t, int> by_batch_;
};

struct CoveragePlanOptions {
  // Path of a profile, see FindProfile. Empty if there is none.
  std::string profile;
  // File with job records, or `-` for standard input. Empty if there is none.
  std::string plan;
  // Runs required of every job of the profile. 0 means the number in its
  // config.
  int32_t num_runs = 0;
  bool require_optional_libraries = false;
  // Called with each warning, one line each.
  std::function<void(const std::string&)> warn;
};

// The file of `coverage`, which is a path, or the name of a profile in
// CONFIGS_DIR/coverage/ such as `full-paper`. InvalidArgument with a suggestion
// if there is none.
absl::StatusOr<std::string> FindProfile(const std::string& coverage,
                                        const std::string& configs_dir);

// The required jobs, as lib/planning makes them. InvalidArgument names the
// place of the mistake. A broken line in a plan is an error, because otherwise
// nobody would notice that the job is missing.
absl::StatusOr<PlannedJobs> LoadCoveragePlan(const CoveragePlanOptions& options,
                                             const Catalogue& catalogue);

}  // namespace feedrate
