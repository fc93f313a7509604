// Complaints about one entry of a file of the catalogue.
#ifndef FEEDRATE_LIB_CATALOGUE_CHECKER_H_
#define FEEDRATE_LIB_CATALOGUE_CHECKER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace feedrate {

// Collects the first complaint about a file. Each check is cheap when it
// passes: place and suggestion are put together only for a complaint.
//
//   Checker check("configs/matrix.textproto");
//   check.Enter("libraries", 3, library.name());
//   check.Present("origin", library.origin());
//   return check.status();
class Checker {
 public:
  // `file` outlives the checker.
  explicit Checker(absl::string_view file) : file_(file) {}

  // Complaints are about entry `index` (from 0) of the repeated field `field`;
  // `name` tells a reader which one that is. Views outlive the next Enter.
  void Enter(absl::string_view field, int index, absl::string_view name);

  // A string that must be there.
  void Present(absl::string_view field, absl::string_view value);
  // A string that must be one of `known`. Empty is a complaint too.
  void OneOf(absl::string_view field, absl::string_view value,
             const std::vector<std::string>& known);
  // `problem` when `good` is false.
  void That(bool good, absl::string_view problem);

  // Whether nothing is wrong so far.
  bool ok() const { return status_.ok(); }
  // InvalidArgument with the first complaint, or OK.
  const absl::Status& status() const { return status_; }

 private:
  void Complain(absl::string_view problem);

  absl::string_view file_;
  absl::string_view field_;
  int index_ = 0;
  absl::string_view name_;
  absl::Status status_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_CATALOGUE_CHECKER_H_
