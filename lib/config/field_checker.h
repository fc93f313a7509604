// Checks of single fields, with errors that say what would be right.
#ifndef FEEDRATE_LIB_CONFIG_FIELD_CHECKER_H_
#define FEEDRATE_LIB_CONFIG_FIELD_CHECKER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lib/config/places.h"

namespace feedrate {

// Every check returns OK or `place: path: problem`.
class FieldChecker {
 public:
  explicit FieldChecker(Places places) : places_(std::move(places)) {}

  absl::Status Error(absl::string_view path, absl::string_view problem) const {
    return places_.Error(path, problem);
  }
  // `"value" is unknown`, with what may have been meant.
  absl::Status Unknown(absl::string_view path, absl::string_view value,
                       const std::vector<std::string>& known) const;
  // `is missing`, with what it may be.
  absl::Status Missing(absl::string_view path,
                       const std::vector<std::string>& known) const;

  absl::Status OneOf(absl::string_view path, absl::string_view value,
                     const std::vector<std::string>& known) const;
  // A number from `least` upwards; no infinity.
  absl::Status AtLeast(absl::string_view path, double value,
                       double least) const;
  // A number up to `most`.
  absl::Status AtMost(absl::string_view path, double value, double most) const;
  // A number above `bound`; no infinity.
  absl::Status Above(absl::string_view path, double value, double bound) const;
  // No name twice.
  template <typename Names>
  absl::Status Distinct(absl::string_view path, const Names& names) const {
    return DistinctNames(path, {names.begin(), names.end()});
  }

  const Places& places() const { return places_; }

 private:
  absl::Status DistinctNames(absl::string_view path,
                             const std::vector<std::string>& names) const;

  Places places_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_CONFIG_FIELD_CHECKER_H_
