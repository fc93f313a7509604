// What a row was measured with that its job does not say.
#ifndef FEEDRATE_LIB_ANALYSIS_ROW_SETTINGS_H_
#define FEEDRATE_LIB_ANALYSIS_ROW_SETTINGS_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "lib/records/records.pb.h"

namespace feedrate {

// Numbers for the combinations of settings that rows come with: few, however
// many rows there are. Rows of one job with different settings must not be
// mixed.
class RowSettings {
 public:
  static constexpr int kFields = 8;
  // Places of values that others ask for.
  static constexpr int kMachineProfile = 0;
  static constexpr int kHardware = 3;
  using Values = std::array<std::string, kFields>;

  uint32_t Id(const Row& row);
  const Values& Get(uint32_t id) const { return values_[id]; }

  // `machine_profile (a, b), library_version (1, 2)`: the fields of which
  // `ids` have more than one value; "" when there is none. Values that a row
  // leaves out are not compared. Does not depend on the order of `ids`.
  std::string Differences(const std::vector<uint32_t>& ids) const;

 private:
  std::string key_;
  std::vector<Values> values_;
  absl::flat_hash_map<std::string, uint32_t> ids_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_ROW_SETTINGS_H_
