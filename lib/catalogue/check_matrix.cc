#include "lib/catalogue/check_matrix.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"
#include "lib/catalogue/checker.h"
#include "lib/catalogue/vocabulary.h"
#include "lib/config/matrix.pb.h"
#include "lib/config/policy.pb.h"
#include "lib/config/transforms.pb.h"

namespace feedrate {
namespace {

using Names = std::vector<std::string>;

template <typename Entries>
Names NamesOf(const Entries& entries) {
  Names names;
  names.reserve(entries.size());
  for (const auto& entry : entries) names.push_back(entry.name());
  return names;
}

// What the parts of a matrix are checked against.
struct Context {
  Names scenarios;
  Names libraries;
  absl::flat_hash_map<absl::string_view, absl::string_view> media_of_scenario;
  const Policy& policy;
};

// The scopes that the policy gives a mode. Empty: the policy lacks the mode.
Names ScopesOf(const Policy& policy, absl::string_view mode,
               absl::string_view media) {
  for (const ModePolicy& m : policy.modes()) {
    if (m.mode() == mode && m.media() == media) {
      return Names(m.scopes().begin(), m.scopes().end());
    }
  }
  return {};
}

absl::Status CheckScenarios(const Matrix& matrix, const Context& context,
                            const std::string& file) {
  Checker check(file);
  check.That(matrix.scenarios_size() > 0, "no scenarios");
  absl::flat_hash_set<absl::string_view> seen;
  for (int i = 0; i < matrix.scenarios_size(); ++i) {
    const Scenario& s = matrix.scenarios(i);
    check.Enter("scenarios", i, s.name());
    check.Present("name", s.name());
    check.That(seen.insert(s.name()).second, "this name is taken");
    check.Present("short_name", s.short_name());
    check.OneOf("media", s.media(), KnownMedia());
    check.That(s.channels() >= 1, "channels must be at least 1");
    const bool clip = s.media() == "clip";
    check.That(clip == (s.clip_length() > 0),
               clip ? "clips need a clip_length of at least 1"
                    : "images have no clip_length");
    check.That(s.public_libraries_size() > 0, "no public_libraries");
    for (const std::string& library : s.public_libraries()) {
      check.OneOf("public library", library, context.libraries);
    }
  }
  return check.status();
}

absl::Status CheckLibraries(const Matrix& matrix, const std::string& file) {
  Checker check(file);
  check.That(matrix.libraries_size() > 0, "no libraries");
  absl::flat_hash_set<absl::string_view> seen;
  for (int i = 0; i < matrix.libraries_size(); ++i) {
    const Library& l = matrix.libraries(i);
    check.Enter("libraries", i, l.name());
    check.Present("name", l.name());
    check.That(seen.insert(l.name()).second, "this name is taken");
    check.OneOf("origin", l.origin(), {"public", "ours"});
    if (l.has_transforms_of()) {
      check.OneOf("transforms_of", l.transforms_of(),
                  NamesOf(matrix.libraries()));
    }
    if (l.has_loader_source()) {
      check.OneOf("loader_source", l.loader_source(), {"files", "shards"});
    }
  }
  return check.status();
}

void CheckScopes(const Combination& c, const Context& context, Checker* check) {
  check->That(c.scopes_size() > 0, "no scopes");
  const auto media = context.media_of_scenario.find(c.scenario());
  if (media == context.media_of_scenario.end()) return;
  const Names known = ScopesOf(context.policy, c.mode(), media->second);
  if (known.empty()) {
    check->That(false, "the policy has no such mode for this media");
    return;
  }
  for (const std::string& scope : c.scopes()) {
    check->OneOf("scope", scope, known);
  }
}

absl::Status CheckCombinations(const Matrix& matrix, const Context& context,
                               const std::string& file) {
  Checker check(file);
  using View = absl::string_view;
  absl::flat_hash_set<std::tuple<View, View, View, View, View>> seen;
  for (int i = 0; i < matrix.combinations_size() && check.ok(); ++i) {
    const Combination& c = matrix.combinations(i);
    const std::string name =
        absl::StrJoin({c.scenario(), c.library(), c.mode(), c.device()}, ", ");
    check.Enter("combinations", i, name);
    check.OneOf("scenario", c.scenario(), context.scenarios);
    check.OneOf("library", c.library(), context.libraries);
    check.OneOf("mode", c.mode(), KnownModes());
    check.OneOf("device", c.device(), KnownDevices());
    CheckScopes(c, context, &check);
    for (const std::string& scope : c.scopes()) {
      check.That(
          seen.insert({c.scenario(), c.library(), c.mode(), c.device(), scope})
              .second,
          "another combination has one of its scopes");
    }
    check.That(c.status() != COMBINATION_STATUS_UNSPECIFIED,
               "status is missing");
    // Text may give a number, and protobuf takes any.
    check.That(CombinationStatus_IsValid(c.status()), "status is unknown");
    check.That(c.status() != REJECTED || !c.reason().empty(),
               "REJECTED needs a reason");
    check.That(c.status() != HOST_CPU || c.device() == "cuda",
               "HOST_CPU is for device cuda");
    for (const std::string& label : c.labels()) {
      check.OneOf("label", label, KnownLabels());
    }
  }
  return check.status();
}

absl::Status CheckCells(const Matrix& matrix, const Context& context,
                        const std::string& file) {
  Checker check(file);
  for (int i = 0; i < matrix.exceptions_size() && check.ok(); ++i) {
    const CellException& e = matrix.exceptions(i);
    const std::string name = absl::StrCat(e.scenario(), ", ", e.library());
    check.Enter("exceptions", i, name);
    check.OneOf("scenario", e.scenario(), context.scenarios);
    check.OneOf("library", e.library(), context.libraries);
    if (e.has_mode()) check.OneOf("mode", e.mode(), KnownModes());
    if (e.has_device()) check.OneOf("device", e.device(), KnownDevices());
    check.That(e.transforms_size() > 0, "no transforms");
    check.That(e.status() != CELL_STATUS_UNSPECIFIED, "status is missing");
    check.That(CellStatus_IsValid(e.status()), "status is unknown");
    check.Present("reason", e.reason());
  }
  return check.status();
}

}  // namespace

absl::Status CheckMatrix(const Matrix& matrix, const Policy& policy,
                         const std::string& file) {
  Context context{
      NamesOf(matrix.scenarios()), NamesOf(matrix.libraries()), {}, policy};
  for (const Scenario& s : matrix.scenarios()) {
    context.media_of_scenario[s.name()] = s.media();
  }
  RETURN_IF_ERROR(CheckLibraries(matrix, file));
  RETURN_IF_ERROR(CheckScenarios(matrix, context, file));
  RETURN_IF_ERROR(CheckCombinations(matrix, context, file));
  return CheckCells(matrix, context, file);
}

absl::Status CheckExceptions(const Matrix& matrix, const Scenario& scenario,
                             const TransformSet& set, const std::string& file) {
  Checker check(file);
  absl::flat_hash_set<absl::string_view> known;
  for (const Transform& t : set.transforms()) known.insert(t.name());
  for (int i = 0; i < matrix.exceptions_size() && check.ok(); ++i) {
    const CellException& e = matrix.exceptions(i);
    if (e.scenario() != scenario.name()) continue;
    check.Enter("exceptions", i, e.library());
    for (const std::string& transform : e.transforms()) {
      if (known.contains(transform)) continue;
      check.OneOf("transform", transform, NamesOf(set.transforms()));
    }
  }
  return check.status();
}

}  // namespace feedrate
