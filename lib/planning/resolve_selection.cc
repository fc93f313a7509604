// Which scenario, transforms and libraries.
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/catalogue/catalogue.h"
#include "lib/catalogue/transform_set.h"
#include "lib/planning/resolve_context.h"

namespace feedrate {
namespace {

template <typename Entries>
std::vector<std::string> NamesOf(const Entries& entries) {
  std::vector<std::string> names;
  for (const auto& entry : entries) names.push_back(entry.name());
  return names;
}

// The modes in which any library has the scenario.
std::vector<std::string> ModesOf(const Scenario& scenario,
                                 const Matrix& matrix) {
  std::vector<std::string> modes;
  std::set<std::string> seen;
  for (const Combination& combination : matrix.combinations()) {
    if (combination.scenario() == scenario.name() &&
        combination.status() != REJECTED &&
        seen.insert(combination.mode()).second) {
      modes.push_back(combination.mode());
    }
  }
  return modes;
}

std::string WhyNoMember(const std::string& name, const Scenario& scenario,
                        const TransformSet& set,
                        const std::vector<std::string>& members) {
  const std::string problem =
      absl::StrCat("\"", name, "\" is not in the set of ", scenario.name());
  for (const Transform& candidate : set.transforms()) {
    if (candidate.name() != name) continue;
    return absl::StrCat(problem, ": ",
                        candidate.has_left_out()
                            ? candidate.left_out()
                            : "fewer than two public libraries have it");
  }
  const std::string hint = DidYouMean(name, members);
  if (!hint.empty()) return absl::StrCat(problem, hint);
  return absl::StrCat(problem, "; docs/transform_sets/", scenario.short_name(),
                      ".md lists it");
}

// A flag that was given but names nothing is a slip, not "all".
absl::Status NotEmptyByFlag(const ResolveContext& context,
                            absl::string_view path, absl::string_view flag) {
  if (context.check.places().Of(path) != flag) return absl::OkStatus();
  return context.check.Error(path, "names none; leave it out for all");
}

absl::Status DefaultLibraries(const ResolveContext& context,
                              RunConfig* config) {
  Selection* selection = config->mutable_selection();
  const Execution& execution = config->execution();
  const Scenario& scenario = *context.scenario;
  for (const std::string& library : scenario.public_libraries()) {
    const Combination* combination = context.catalogue.FindCombination(
        scenario.name(), library, selection->mode(), execution.device(),
        execution.scope());
    if (combination != nullptr && combination->status() == SUPPORTED) {
      selection->add_libraries(library);
    }
  }
  if (!selection->libraries().empty()) return absl::OkStatus();
  return context.check.Error(
      "selection.libraries",
      absl::StrCat("no public library has ", scenario.name(), " ",
                   selection->mode(), " on ", execution.device(), " in scope ",
                   execution.scope(), "; name libraries or another device"));
}

}  // namespace

absl::Status ResolveScenarioAndMode(const RunConfig& config,
                                    ResolveContext* context) {
  const Selection& selection = config.selection();
  const Matrix& matrix = context->catalogue.matrix();
  RETURN_IF_ERROR(context->check.OneOf(
      "selection.scenario", selection.scenario(), NamesOf(matrix.scenarios())));
  context->scenario = context->catalogue.FindScenario(selection.scenario());
  RETURN_IF_ERROR(context->check.OneOf("selection.mode", selection.mode(),
                                       ModesOf(*context->scenario, matrix)));
  context->mode =
      context->catalogue.FindMode(selection.mode(), context->scenario->media());
  if (context->mode != nullptr) return absl::OkStatus();
  return context->check.Error(
      "selection.mode",
      absl::StrCat("the policy has no mode \"", selection.mode(), "\" for ",
                   context->scenario->media(), "s"));
}

absl::Status ResolveTransforms(const ResolveContext& context,
                               RunConfig* config) {
  Selection* selection = config->mutable_selection();
  const Scenario& scenario = *context.scenario;
  if (!scenario.has_transforms()) {
    if (selection->transforms().empty()) return absl::OkStatus();
    return context.check.Error(
        "selection.transforms",
        absl::StrCat("scenario ", scenario.name(),
                     " has no transforms; leave them out"));
  }
  ASSIGN_OR_RETURN(const TransformSet* set,
                   context.catalogue.Transforms(scenario));
  std::vector<std::string> members;
  for (const Transform* transform :
       SetMembers(scenario, *set, selection->transform_set())) {
    members.push_back(transform->name());
  }
  if (members.empty()) {
    return context.check.Error(
        "selection.transform_set",
        absl::StrCat("\"", selection->transform_set(),
                     "\" has no transforms of ", scenario.name()));
  }
  if (selection->transforms().empty()) {
    RETURN_IF_ERROR(
        NotEmptyByFlag(context, "selection.transforms", "--transforms"));
    for (const std::string& name : members) selection->add_transforms(name);
    return absl::OkStatus();
  }
  const std::set<std::string> known(members.begin(), members.end());
  for (int i = 0; i < selection->transforms_size(); ++i) {
    const std::string& name = selection->transforms(i);
    if (known.count(name) > 0) continue;
    return context.check.Error(absl::StrCat("selection.transforms[", i, "]"),
                               WhyNoMember(name, scenario, *set, members));
  }
  return context.check.Distinct("selection.transforms",
                                selection->transforms());
}

absl::Status ResolveLibraries(const ResolveContext& context,
                              RunConfig* config) {
  Selection* selection = config->mutable_selection();
  if (selection->libraries().empty()) {
    RETURN_IF_ERROR(
        NotEmptyByFlag(context, "selection.libraries", "--libraries"));
    return DefaultLibraries(context, config);
  }
  const std::vector<std::string> known =
      NamesOf(context.catalogue.matrix().libraries());
  for (int i = 0; i < selection->libraries_size(); ++i) {
    RETURN_IF_ERROR(
        context.check.OneOf(absl::StrCat("selection.libraries[", i, "]"),
                            selection->libraries(i), known));
  }
  return context.check.Distinct("selection.libraries", selection->libraries());
}

}  // namespace feedrate
