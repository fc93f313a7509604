// The jobs of a run, read from a pipe or file or planned from a config, and the
// runs of them that are already done.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/config/overrides.h"
#include "lib/config/run_config.pb.h"
#include "lib/planning/jobs.h"
#include "lib/records/job.pb.h"

namespace feedrate {

class Catalogue;

struct JobSource {
  // The running program, such as `micro`.
  std::string tool;
  // The config to plan from. Empty means that jobs are read from `jobs`.
  std::string config;
  // File with jobs; `-` is standard input. With a config, keeps only the
  // planned jobs that are also in this file, unless it is `-`.
  std::string jobs = "-";
  // Whether the user named `jobs`, also as `-`.
  bool jobs_given = false;
  // The file in configs/subjects/ that subjects are planned from if there is
  // neither a config nor a file with jobs. Empty means that of the tool.
  std::string subject_config;
  // A setting and label that all jobs get, which must be of subjects. Empty
  // means none.
  std::string subject_setting;
  // A further label of them. Empty means none.
  std::string subject_label;
  // Put before every command that runs a subject.
  std::vector<std::string> subject_prefix;
  Overrides overrides;
};

struct JobList {
  std::vector<Job> jobs;
  // The resolved config, with the libraries and transforms of `jobs`. For jobs
  // of several configs, the first one; for jobs without a config, only what the
  // flags say.
  RunConfig config;
  // `config` as text that may be recorded; for jobs of several configs, all.
  std::string config_text;
  // Where the data is. Empty means where the jobs' dataset ids say.
  std::string dataset;
};

// Planned jobs that were written to a file give the same list as the config
// they come from, except for the queries of URLs. Rows go to standard output
// unless a flag or the config that is named says otherwise.
//
// InvalidArgument when there are no jobs, when one is for another program (the
// message names it), when flags would change jobs that are already planned, or
// when a job that was read would run code that no flag names, or write outside
// of the folder of --output.
absl::StatusOr<JobList> LoadJobList(const JobSource& source,
                                    const Catalogue& catalogue);

// InvalidArgument names a flag that would change jobs that are already planned.
// `dataset`, `label`, `note`, `output`, `python`, `reference` and `subject` do
// not.
absl::Status CheckNothingIsLate(const Overrides& overrides);

// A file of jobs may come from rows of others, and a subject is code to import.
// InvalidArgument unless --subject names every subject among the jobs.
absl::Status CheckSubjectsNamed(const std::vector<Job>& jobs,
                                const Overrides& overrides);

// InvalidArgument for a flag that would change jobs that are already planned.
absl::Status TooLate(absl::string_view flag);

// Reads job records from a file or standard input (`-`). InvalidArgument when
// one of them is broken.
absl::StatusOr<std::vector<Job>> ReadJobFile(const std::string& path);

// Puts the configs that the jobs of the list carry together again: the other
// fields of the list. InvalidArgument when one of them is broken.
absl::Status ReadConfigs(const Overrides& flags, JobList* list);

// The runs that earlier starts of the program have finished, for `--resume`.

class DoneRuns {
 public:
  // A row counts as done when it is from this machine, from the library version
  // that `version_of` returns (any if that is an empty string), from as many
  // processors as `cpus_of` returns for its mode, and as cold as these runs.
  // Without `cold`, the page cache does not matter.
  using VersionOf = std::function<std::string(const std::string& library)>;
  using CpusOf = std::function<std::optional<int32_t>(const std::string& mode)>;
  DoneRuns(
      const std::string& machine_profile, VersionOf version_of,
      std::optional<bool> cold = std::nullopt,
      CpusOf cpus_of = [](const std::string&) { return std::nullopt; })
      : machine_profile_(machine_profile),
        version_of_(std::move(version_of)),
        cpus_of_(std::move(cpus_of)),
        cold_(cold),
        existing_(machine_profile) {}

  absl::Status Read(const std::vector<std::string>& files,
                    const std::function<void(const std::string&)>& warn);

  bool Done(const std::string& job_id, int32_t run_index) const {
    return existing_.Done(job_id, run_index);
  }
  // The number of the next attempt, whichever machine or version made the last
  // one.
  int32_t NextAttempt(const std::string& job_id, int32_t run_index) const;

 private:
  const std::string machine_profile_;
  const VersionOf version_of_;
  const CpusOf cpus_of_;
  const std::optional<bool> cold_;
  ExistingRuns existing_;
  std::map<std::pair<std::string, int32_t>, int32_t> attempts_;
};

}  // namespace feedrate
