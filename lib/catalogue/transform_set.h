// Questions about transforms and how libraries implement them.
#ifndef FEEDRATE_LIB_CATALOGUE_TRANSFORM_SET_H_
#define FEEDRATE_LIB_CATALOGUE_TRANSFORM_SET_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "lib/config/matrix.pb.h"
#include "lib/config/transforms.pb.h"

namespace feedrate {

// Libraries that must have a transform to make it a member.
inline constexpr int kLibrariesOfAMember = 2;

// Sets that can be chosen from.
inline constexpr char kPaperSet[] = "paper";
inline constexpr char kTrainingSet[] = "training";

// The transforms of the set `name`, in the order of the file. Of `paper` those
// that at least two public libraries of `scenario` have and that are not left
// out on purpose; of others those that say so.
std::vector<const Transform*> SetMembers(const Scenario& scenario,
                                         const TransformSet& set,
                                         absl::string_view name = kPaperSet);

// How many of the scenario's public libraries have `transform`, whatever the
// mode.
int PublicLibraries(const Scenario& scenario, const Transform& transform);

// The implementation by `library` for `params_profile`, or nullptr. One that
// names no profile is for `paper`.
const Implementation* FindImplementation(const Transform& transform,
                                         absl::string_view library,
                                         absl::string_view params_profile);

// Whether the library has the transform in `mode`.
bool HasMode(const Implementation& implementation, absl::string_view mode);

// A parameter, NAME=VALUE, in two. REQUIRES: `parameter` has a `=`.
std::pair<absl::string_view, absl::string_view> SplitParameter(
    absl::string_view parameter);

// The value of the parameter `name`, or nullopt.
absl::optional<absl::string_view> FindParameter(
    const Implementation& implementation, absl::string_view name);

// All that decides what the library is asked to do, as text that never
// changes for the same work: the operation, the parameters in order, the wrap.
// Notes and library defaults are not part of it. Hashes of it are in job ids.
std::string CanonicalParameters(const Implementation& implementation);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_CATALOGUE_TRANSFORM_SET_H_
