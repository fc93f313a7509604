// What machines take from a quota.
#ifndef FEEDRATE_LIB_PLANNING_QUOTA_USE_H_
#define FEEDRATE_LIB_PLANNING_QUOTA_USE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "lib/config/field_checker.h"
#include "lib/config/quota.pb.h"
#include "lib/records/records.pb.h"

namespace feedrate {

// `us-central1-a` -> `us-central1`.
std::string RegionOfZone(const std::string& zone);

// Required fields are there, names unique, amounts not negative. Fails through
// `check`, with the place.
absl::Status CheckQuota(const Quota& quota, const FieldChecker& check);

// The machine type of this name, or nullptr.
const MachineType* FindMachineType(const Quota& quota, const std::string& name);

// Machines that run at the same time.
class QuotaUse {
 public:
  // `quota` outlives this.
  explicit QuotaUse(const Quota& quota) : quota_(quota) {}

  // Adds the machine of `task` and returns "", or leaves everything as it is
  // and returns the limit that forbids it, in words.
  // REQUIRES: its machine type is in the quota.
  std::string TryAdd(const WaveTask& task);

 private:
  const Quota& quota_;
  // By limit, then by region ("" for limits over all regions).
  std::map<int, std::map<std::string, int64_t>> used_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_PLANNING_QUOTA_USE_H_
