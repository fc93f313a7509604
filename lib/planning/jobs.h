// A resolved config as jobs: what each costs and which of its runs are done.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "lib/catalogue/catalogue.h"
#include "lib/catalogue/published_numbers.h"
#include "lib/config/places.h"
#include "lib/config/policy.pb.h"
#include "lib/config/run_config.pb.h"
#include "lib/planning/cells.h"
#include "lib/records/job.pb.h"
#include "lib/records/row.pb.h"

namespace feedrate {

// How long runs took, from rows.
class MeasuredCosts {
 public:
  // Uses rows that are `ok` or `early_stopped`.
  void Add(const Row& row);

  // Seconds for the runs of a job, by the mean of the rows of the same job, or
  // else of the same cell (scenario, mode, scope, library, transform, device),
  // scaled to the job's items; plus what the rows' programs spent between
  // their rows, per job. Absent without such rows.
  absl::optional<double> Seconds(const Job& job, double items) const;

 private:
  struct Sum {
    int64_t rows = 0;
    // Seconds of the timed part and of the rest of the row.
    double elapsed_s = 0;
    double other_s = 0;
    double items = 0;
    bool stops_early = false;
  };
  // What one start of a program did.
  struct Start {
    absl::Time first = absl::InfiniteFuture();
    absl::Time last = absl::InfinitePast();
    double rows_s = 0;
    absl::flat_hash_set<std::string> jobs;
  };

  double OverheadSeconds() const;

  // By job id and by cell.
  absl::flat_hash_map<std::string, Sum> sums_;
  // By run id.
  absl::flat_hash_map<std::string, Start> starts_;
};

struct Cost {
  double seconds = 0;
  // As `cost_basis` of a job.
  std::string basis;
};

// Estimates from measured rows, else from the published number of the same
// cell, else from the policy's default throughput.
class CostModel {
 public:
  // All outlive the model. `measured` may be null.
  CostModel(const Policy& policy, const PublishedNumbers& published,
            const MeasuredCosts* measured = nullptr)
      : policy_(policy), published_(published), measured_(measured) {}

  // The cost of all run indexes of `job`, whose items are of kind `media`.
  // A job that will stop early costs its preflight; one that is unsupported
  // costs nothing.
  Cost Of(const Job& job, absl::string_view media,
          const Execution& execution) const;

 private:
  // Sets the throughput's basis too.
  double ItemsPerSecond(const Job& job, absl::string_view media,
                        std::string* basis) const;

  const Policy& policy_;
  const PublishedNumbers& published_;
  const MeasuredCosts* const measured_;
};

// Calls `add` for each row of files, of all .jsonl files below folders, or of
// standard input (`-`). What is broken in them goes to `complain`.
absl::Status ReadRows(const std::vector<std::string>& paths,
                      const std::function<void(const std::string&)>& complain,
                      const std::function<void(const Row&)>& add);

// Which runs are done already, from the rows of earlier ones.

// Whether a run of this status needs no other try.
bool IsDone(const std::string& status);
// Whether this status answers for runs that were not asked yet as well:
// another pass would end in the same way.
bool AnswersForAllRuns(const std::string& status);

// The runs that rows show as done. Of several attempts at a run the last one
// counts.
class ExistingRuns {
 public:
  // Rows of other machines are left out, unless `machine_profile` is empty.
  explicit ExistingRuns(std::string machine_profile)
      : machine_profile_(std::move(machine_profile)) {}

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

// A resolved config as jobs, one after the other.

// What goes into planning one config. Everything outlives the call.
struct PlanInput {
  // From Resolve.
  const RunConfig& config;
  // Where its fields came from, for errors.
  const Places& places;
  const Catalogue& catalogue;
  const CostModel& cost;
  // Runs not to plan again. Null: none.
  const ExistingRuns* existing = nullptr;
};

// What comes out, as it is found. An error from a callback ends the planning.
struct PlanOutput {
  std::function<absl::Status(const Job&)> job;
  // A cell without a job, once for each device, scope and profile.
  // Null: not wanted.
  std::function<void(const ExcludedCell&)> excluded;
  // A job whose runs are all done. Null: not wanted.
  std::function<void(const Job&)> done;
};

// InvalidArgument when the matrix does not allow what the config asks for, at
// any point of its sweep. What passes can be planned.
absl::Status CheckJobs(const PlanInput& input);

// Calls `output` for each job: point of the sweep by point, transform by
// transform, library by library. Holds one job at a time. No two have the same
// id. Fails as CheckJobs does, before the first job.
absl::Status ForEachJob(const PlanInput& input, const PlanOutput& output);

}  // namespace feedrate
