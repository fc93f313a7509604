// The data sets that the mixtures of a run read.
#ifndef FEEDRATE_LIB_RUNNER_MIXTURE_MIXTURE_INPUTS_H_
#define FEEDRATE_LIB_RUNNER_MIXTURE_MIXTURE_INPUTS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/base/unique_fd.h"
#include "lib/records/records.pb.h"
#include "lib/runner/mixture/mixture_settings.h"
#include "lib/worker/loader_message.h"

namespace feedrate {

struct MixtureInput {
  std::vector<MixtureSource> sources;
  // The same as a memory file, to hand to a worker.
  UniqueFd list;
  Dataset dataset;
  std::vector<std::string> paths;
  // Data sets whose weight is not above 0, with `on_error` skip.
  std::vector<std::string> left_out;
  // Why.
  std::vector<std::string> left_out_reasons;
};

// Writes synthetic episodes where they are missing. Not thread-safe.
class MixtureInputs {
 public:
  // `dataset`: where the data is; empty: where the job's id says, which must
  // be synthetic. `on_error`: `fail` or `skip`.
  MixtureInputs(std::string dataset, std::string on_error,
                std::function<void(int64_t done, int64_t total)> progress);

  // Files are in the page cache once. The result lives as long as this.
  // InvalidArgument: a weight for a data set that there is not, or one that is
  // not above 0 unless those are skipped.
  absl::StatusOr<const MixtureInput*> Get(const Job& job);

 private:
  absl::StatusOr<std::vector<MixtureSource>> Sources(const Job& job) const;

  const std::string dataset_;
  const std::string on_error_;
  const std::function<void(int64_t, int64_t)> progress_;
  // By data set and weights.
  std::map<std::string, std::unique_ptr<MixtureInput>> known_;
};

// Puts weights in place, and takes out data sets whose weight is not above 0;
// in mode `fail` they are the error. For the class above.
absl::Status ApplyWeights(const std::map<std::string, double>& weights,
                          const std::string& on_error, MixtureInput* input);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_MIXTURE_MIXTURE_INPUTS_H_
