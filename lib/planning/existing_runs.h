// Which runs are done already, from the rows of earlier ones.
#ifndef FEEDRATE_LIB_PLANNING_EXISTING_RUNS_H_
#define FEEDRATE_LIB_PLANNING_EXISTING_RUNS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "lib/records/records.pb.h"

namespace feedrate {

// Whether a run of this status needs no other try.
bool IsDone(const std::string& status);
// Whether this status answers for runs that were not asked yet as well:
// another pass would end in the same way.
bool AnswersForAllRuns(const std::string& status);

// The runs that rows show as done. Of several attempts at a run the last one
// counts.
class ExistingRuns {
 public:
  using Complain = std::function<void(const std::string&)>;

  // Rows of other machines are left out, unless `machine_profile` is empty.
  explicit ExistingRuns(std::string machine_profile)
      : machine_profile_(std::move(machine_profile)) {}

  // Adds the rows of files, of all .jsonl files below folders, or of standard
  // input (`-`). What is broken in them goes to `complain`.
  absl::Status Read(const std::vector<std::string>& paths,
                    const Complain& complain);
  void Add(const Row& row);

  bool Done(const std::string& job_id, int32_t run_index) const;

  int64_t rows() const { return rows_; }

 private:
  struct Attempt {
    int32_t number = -1;
    bool done = false;
    bool answers_for_all = false;
  };

  std::string machine_profile_;
  int64_t rows_ = 0;
  absl::flat_hash_map<std::string, std::map<int32_t, Attempt>> jobs_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_PLANNING_EXISTING_RUNS_H_
