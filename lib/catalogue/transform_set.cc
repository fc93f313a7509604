#include "lib/catalogue/transform_set.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "lib/config/matrix.pb.h"
#include "lib/config/transforms.pb.h"

namespace feedrate {
namespace {

using View = absl::string_view;

absl::flat_hash_set<View> PublicNames(const Scenario& scenario) {
  return {scenario.public_libraries().begin(),
          scenario.public_libraries().end()};
}

// Distinct libraries: one may have an implementation for each profile.
int CountPublic(const absl::flat_hash_set<View>& known,
                const Transform& transform) {
  absl::flat_hash_set<View> having;
  for (const Implementation& impl : transform.implementations()) {
    if (known.contains(impl.library())) having.insert(impl.library());
  }
  return static_cast<int>(having.size());
}

View ProfileOf(const Implementation& implementation) {
  return implementation.params_profile().empty()
             ? View("paper")
             : View(implementation.params_profile());
}

}  // namespace

std::vector<const Transform*> SetMembers(const Scenario& scenario,
                                         const TransformSet& set, View name) {
  const absl::flat_hash_set<View> known = PublicNames(scenario);
  std::vector<const Transform*> members;
  for (const Transform& transform : set.transforms()) {
    const View set_name =
        transform.set().empty() ? View(kPaperSet) : View(transform.set());
    if (set_name != name || !transform.left_out().empty()) continue;
    if (name != kPaperSet ||
        CountPublic(known, transform) >= kLibrariesOfAMember) {
      members.push_back(&transform);
    }
  }
  return members;
}

int PublicLibraries(const Scenario& scenario, const Transform& transform) {
  return CountPublic(PublicNames(scenario), transform);
}

const Implementation* FindImplementation(const Transform& transform,
                                         View library, View params_profile) {
  for (const Implementation& impl : transform.implementations()) {
    if (impl.library() == library && ProfileOf(impl) == params_profile) {
      return &impl;
    }
  }
  return nullptr;
}

bool HasMode(const Implementation& implementation, View mode) {
  const auto& modes = implementation.modes();
  return modes.empty() ||
         std::find(modes.begin(), modes.end(), mode) != modes.end();
}

std::pair<View, View> SplitParameter(View parameter) {
  const size_t equals = parameter.find('=');
  return {parameter.substr(0, equals), parameter.substr(equals + 1)};
}

absl::optional<View> FindParameter(const Implementation& implementation,
                                   View name) {
  for (const std::string& param : implementation.params()) {
    const std::pair<View, View> parts = SplitParameter(param);
    if (parts.first == name) return parts.second;
  }
  return absl::nullopt;
}

std::string CanonicalParameters(const Implementation& implementation) {
  std::string text = absl::StrCat("op ", implementation.native_op(), "\n");
  for (const std::string& param : implementation.params()) {
    absl::StrAppend(&text, "param ", param, "\n");
  }
  if (!implementation.wrap().empty()) {
    absl::StrAppend(&text, "wrap ", implementation.wrap(), "\n");
  }
  return text;
}

}  // namespace feedrate
