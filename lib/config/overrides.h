// Flags that override fields of a run config, the same in `plan` and in every
// runner. A new one is a line of the table in overrides.cc.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lib/config/run_config.pb.h"

namespace feedrate {

// The values given on the command line, by flag. A flag that is absent leaves
// the config's value.
class Overrides {
 public:
  void Set(const std::string& flag, absl::string_view value) {
    values_[flag] = std::string(value);
  }
  void Clear(const std::string& flag) { values_.erase(flag); }

  bool Has(const std::string& flag) const { return values_.count(flag) > 0; }
  std::string ValueOr(const std::string& flag,
                      absl::string_view otherwise) const;
  // The entries of a list, which commas separate.
  std::vector<std::string> ListOf(const std::string& flag) const;

 private:
  std::map<std::string, std::string> values_;
};

enum class FlagType { kInt32, kInt64, kDouble, kText };

// What else a flag may do, beside changing the config that is planned.
enum FlagUse : unsigned {
  kPlanOnly = 0,
  // A sweep may vary its field.
  kSwept = 1,
  // Jobs that are already planned may come with it, and their config takes it.
  kAppliesLate = 2,
  // Such jobs may come with it, but it does not change them.
  kAllowedLate = 4,
};

struct OverrideFlag {
  const char* name;
  // Its field of RunConfig, such as `execution.workers`.
  const char* path;
  FlagType type;
  unsigned uses;
  // Null: one program has the flag, and defines it.
  const char* help;
};

// The table. Its order is that of axes in messages.
const std::vector<OverrideFlag>& OverrideFlags();

// The flag that sweeps may vary. Null if there is none of this name.
const OverrideFlag* FindSweptFlag(absl::string_view name);

// Sets the field of the flag. Says what is wrong, without a place, when `value`
// is not of the field's type.
absl::Status SetConfigField(const OverrideFlag& flag, const std::string& value,
                            RunConfig* config);

}  // namespace feedrate
