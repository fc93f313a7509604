// What no transform that touches all of its input can beat.
#ifndef FEEDRATE_LIB_RUNNER_COPY_LIMIT_H_
#define FEEDRATE_LIB_RUNNER_COPY_LIMIT_H_

#include <map>
#include <optional>

#include "lib/catalogue/catalogue.h"
#include "lib/media/corpus.h"
#include "lib/records/records.pb.h"

namespace feedrate {

// Copies items of a corpus, one after the other, into one buffer: it reads what
// a transform reads, from the same caches, and writes as much. Measures each
// corpus once. Not thread-safe.
class CopyLimit {
 public:
  // `catalogue` outlives this.
  explicit CopyLimit(const Catalogue& catalogue) : catalogue_(catalogue) {}

  // Items a second for `job` on `corpus`, which outlives this; nothing for a
  // transform that need not touch all of its item.
  std::optional<double> Of(const Job& job, const Corpus& corpus);

 private:
  const Catalogue& catalogue_;
  std::map<const Corpus*, double> known_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_COPY_LIMIT_H_
