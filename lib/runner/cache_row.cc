#include "lib/runner/cache_row.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "lib/base/status_macros.h"
#include "lib/machine/resources.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

// What counts as all or none of the pages.
constexpr double kWarmShare = 0.99;
constexpr double kColdShare = 0.01;
// Of more files, this many are asked about.
constexpr size_t kFilesLookedAt = 2000;

std::vector<std::string> Some(const std::vector<std::string>& paths) {
  if (paths.size() <= kFilesLookedAt) return paths;
  std::vector<std::string> some;
  for (size_t i = 0; i < kFilesLookedAt; ++i) {
    some.push_back(paths[i * paths.size() / kFilesLookedAt]);
  }
  return some;
}

}  // namespace

absl::Status LookAtPages(const std::vector<std::string>& paths, bool cold,
                         Cache* cache) {
  if (cold) RETURN_IF_ERROR(DropPages(paths));
  ASSIGN_OR_RETURN(const double fraction, ResidentFraction(Some(paths)));
  cache->set_resident_fraction(std::max(cache->resident_fraction(), fraction));
  return absl::OkStatus();
}

void SetCache(const Cache& cache, bool cold, Row* row) {
  *row->mutable_cache() = cache;
  const double resident = cache.resident_fraction();
  if (cold && resident <= kColdShare) {
    row->add_labels("cold");
  } else if (cold || resident < kWarmShare) {
    row->add_labels("partly_cold");
  }
}

}  // namespace feedrate
