// Whether a library does what the transform means, asked once.
#ifndef FEEDRATE_LIB_RUNNER_EQUIVALENCE_CHECK_H_
#define FEEDRATE_LIB_RUNNER_EQUIVALENCE_CHECK_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lib/catalogue/catalogue.h"
#include "lib/records/records.pb.h"
#include "lib/reference/pixels.h"
#include "lib/runner/equivalence_cache.h"
#include "lib/worker/child.h"
#include "lib/worker/loader_message.h"

namespace feedrate {

// What outputs are compared for.
struct ComparedItems {
  int64_t count = 0;
  // Of the data.
  std::string sha256;
  // Frame `frame` of item `i`, 0 of an image, as it was decoded.
  std::function<absl::StatusOr<Pixels>(int64_t i, int frame)> item;
  // What is done besides the transform. Null: nothing.
  const LoaderSpec* recipe = nullptr;
};

// Holds outputs of a library against the reference, once for each library
// version, parameters, reference and data. Not thread-safe.
class EquivalenceCheck {
 public:
  // `catalogue` outlives this.
  EquivalenceCheck(const Catalogue& catalogue, const std::string& cache_path)
      : catalogue_(catalogue), cache_(cache_path) {}

  // Lets `child`, which has prepared the job's transform, show its outputs for
  // the first items, and compares them. Fails as the child does. An output
  // that cannot be compared is `different`, and says why.
  absl::StatusOr<Equivalence> Check(const Job& job, const std::string& version,
                                    const ComparedItems& items,
                                    absl::Duration limit, MeasuredChild* child);

 private:
  absl::StatusOr<Equivalence> Compare(const Transform& transform,
                                      const Implementation& implementation,
                                      const ComparedItems& items,
                                      const std::vector<ChildOutput>& outputs);

  const Catalogue& catalogue_;
  EquivalenceCache cache_;
};

// Where answers are kept: in the user's cache.
std::string EquivalenceCachePath();

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_EQUIVALENCE_CHECK_H_
