// Whether matrix, policy and transform sets make sense, and the words that they
// share.
#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lib/config/matrix.pb.h"
#include "lib/config/policy.pb.h"
#include "lib/config/transforms.pb.h"

namespace feedrate {

const std::vector<std::string>& KnownModes();
const std::vector<std::string>& KnownMedia();
const std::vector<std::string>& KnownDevices();
const std::vector<std::string>& KnownProfiles();
// What a row may be labeled.
const std::vector<std::string>& KnownLabels();
// Sets of transforms that can be chosen from.
const std::vector<std::string>& KnownSets();

// Scenario, library, mode, device and scope.
using CombinationKey =
    std::tuple<absl::string_view, absl::string_view, absl::string_view,
               absl::string_view, absl::string_view>;
// Everything that the combination applies to.
inline std::vector<CombinationKey> KeysOf(const Combination& combination) {
  std::vector<CombinationKey> keys;
  for (const std::string& scenario : combination.scenario()) {
    for (const std::string& library : combination.library()) {
      for (const std::string& device : combination.device()) {
        for (const std::string& scope : combination.scopes()) {
          keys.emplace_back(scenario, library, combination.mode(), device,
                            scope);
        }
      }
    }
  }
  return keys;
}

// Complaints about one entry of a file of the catalogue.

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
  // The same for each of `values`, of which there may be none.
  void EachOneOf(absl::string_view field,
                 const google::protobuf::RepeatedPtrField<std::string>& values,
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

// Whether the policy makes sense.

// Required fields are there and within bounds, no entry is there twice, and
// defaults are among what they are defaults of. InvalidArgument names `file`
// and the entry.
absl::Status CheckPolicy(const Policy& policy, const std::string& file);

// Whether the support matrix makes sense.

// Required fields are there, names are unique and known to each other and to
// `policy`, and nobody is turned away without a reason. InvalidArgument names
// `file` and the entry. REQUIRES: CheckPolicy(policy) is OK.
absl::Status CheckMatrix(const Matrix& matrix, const Policy& policy,
                         const std::string& file);

// The exceptions of `scenario` name transforms of its `set`. Apart from the
// rest, because it needs the set.
absl::Status CheckExceptions(const Matrix& matrix, const Scenario& scenario,
                             const TransformSet& set, const std::string& file);

// Whether a transform set makes sense.

// `set` is that of `scenario`, its names are unique, its libraries are in
// `matrix`, its parameters are NAME=VALUE, its references have an operation and
// a kind or a reason. InvalidArgument names `file`, the transform and the
// library.
absl::Status CheckTransforms(const TransformSet& set, const Scenario& scenario,
                             const Matrix& matrix, const std::string& file);

}  // namespace feedrate
