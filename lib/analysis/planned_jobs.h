// The jobs that rows are held against.
#ifndef FEEDRATE_LIB_ANALYSIS_PLANNED_JOBS_H_
#define FEEDRATE_LIB_ANALYSIS_PLANNED_JOBS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "lib/records/records.pb.h"

namespace feedrate {

// `image-rgb micro augmentation_only cpu kornia Blur`: a job or row in words,
// with the batch size where there is one.
std::string Subject(const Job& job);

// Jobs in the order of the plan, kept in the wire format: some 300 bytes each.
class PlannedJobs {
 public:
  // A job that is there already only adds its runs. One that is planned both
  // on a CPU machine and on the CPU of a GPU machine may run on either.
  void Add(const Job& job);

  int size() const { return static_cast<int>(jobs_.size()); }
  // The job, with all its runs.
  Job Get(int index) const;
  // Sorted, no run twice.
  const std::vector<int32_t>& runs(int index) const {
    return jobs_[index].runs;
  }
  bool HasRun(int index, int32_t run) const;
  int64_t total_runs() const;

  // The index of a job, or -1.
  int Find(absl::string_view job_id) const;
  // A job of the row's cell (the same library, transform, scope, data, …), for
  // a row of no job: one with its batch size where there is one. -1: none.
  int FindCell(const Row& row) const;

  // "" when the row's identity is that of job `index`; else what is not, such
  // as `batch_size is 128, planned is 256`, the batch size first. A text that
  // the row leaves out is not compared.
  std::string Difference(int index, const Row& row) const;

 private:
  struct Entry {
    std::string wire;  // Without runs.
    std::vector<int32_t> runs;
    uint64_t identity;
  };

  std::vector<Entry> jobs_;
  absl::flat_hash_map<std::string, int> by_id_;
  // The first job of each cell, and of each batch size in it.
  absl::flat_hash_map<uint64_t, int> by_cell_;
  absl::flat_hash_map<uint64_t, int> by_batch_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_PLANNED_JOBS_H_
