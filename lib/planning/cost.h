// How long a job will take, as far as one can know before.
#ifndef FEEDRATE_LIB_PLANNING_COST_H_
#define FEEDRATE_LIB_PLANNING_COST_H_

#include "absl/strings/string_view.h"
#include "lib/catalogue/published_numbers.h"
#include "lib/config/policy.pb.h"
#include "lib/config/run_config.pb.h"
#include "lib/records/records.pb.h"

namespace feedrate {

// Estimates from the published number of the same cell, else from the
// policy's default throughput.
class CostModel {
 public:
  // Both outlive the model.
  CostModel(const Policy& policy, const PublishedNumbers& published)
      : policy_(policy), published_(published) {}

  // Seconds for all run indexes of `job`, whose items are of kind `media`.
  // A job that will stop early costs its preflight; one that is unsupported
  // costs nothing.
  double Seconds(const Job& job, absl::string_view media,
                 const Execution& execution) const;

 private:
  double Estimate(const Job& job, absl::string_view media,
                  const Execution& execution) const;
  double ItemsPerSecond(const Job& job, absl::string_view media) const;

  const Policy& policy_;
  const PublishedNumbers& published_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_PLANNING_COST_H_
