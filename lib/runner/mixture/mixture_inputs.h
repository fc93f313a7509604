// What mixture jobs ask for, and the data sets that they read.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/base/unique_fd.h"
#include "lib/records/job.pb.h"
#include "lib/records/row.pb.h"
#include "lib/worker/message.h"

namespace feedrate {

// The settings of a mixture job.

struct MixtureSettingsOfJob {
  // All fields except `on_error`, which the run decides.
  MixtureSpec spec;
  int64_t steps = 0;
  int64_t warmup = 0;
  // Weights by data set, which replace those that come with the data.
  std::map<std::string, double> weights;

  // Number of samples in a run.
  int64_t samples() const { return (warmup + steps) * spec.batch_size; }
};

// Parses the job's settings; `plan` sets all of them. InvalidArgument names a
// setting that is unknown, missing, or has an impossible value.
absl::StatusOr<MixtureSettingsOfJob> ParseMixtureSettings(const Job& job);

struct MixtureInput {
  std::vector<MixtureSource> sources;
  // `sources` as a memory file for a worker.
  UniqueFd list;
  Dataset dataset;
  std::vector<std::string> paths;
  // Data sets that are left out because their weight is not above 0, with
  // `on_error` `skip`.
  std::vector<std::string> left_out;
  // The reason for each.
  std::vector<std::string> left_out_reasons;
};

// The data sets of the mixtures of a run. Writes missing synthetic episodes.
// Not thread-safe.
class MixtureInputs {
 public:
  // `dataset` says where the data is; empty means that the job's dataset id is
  // used, which must be synthetic. `on_error` is `fail` or `skip`.
  MixtureInputs(std::string dataset, std::string on_error,
                std::function<void(int64_t done, int64_t total)> progress);

  // Also reads the files into the page cache. The result lives as long as this.
  // InvalidArgument for a weight of an unknown data set, or one that is not
  // above 0 unless those are skipped.
  absl::StatusOr<const MixtureInput*> Get(const Job& job);

 private:
  absl::StatusOr<std::vector<MixtureSource>> Sources(const Job& job) const;

  const std::string dataset_;
  const std::string on_error_;
  const std::function<void(int64_t, int64_t)> progress_;
  // Keyed by data set and weights.
  std::map<std::string, std::unique_ptr<MixtureInput>> known_;
};

// Sets the weights and removes data sets whose weight is not above 0; in mode
// `fail` these are an error. For MixtureInputs.
absl::Status ApplyWeights(const std::map<std::string, double>& weights,
                          const std::string& on_error, MixtureInput* input);

// Settings for mixture jobs.

struct MixtureWorkOptions {
  // Has the kernel forget the shards before each run.
  bool cold = false;
  // What to do with data that cannot be used: `fail` or `skip`.
  std::string on_error = "skip";
  // A teardown that takes longer, in seconds, is killed.
  double teardown_limit_s = 10;
  // For audits: how often a stream is interrupted.
  int resumes = 1;
};

}  // namespace feedrate
