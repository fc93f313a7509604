#include "lib/planning/resolve.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/catalogue/check_catalogue.h"
#include "lib/config/matrix.pb.h"
#include "lib/config/overrides.h"
#include "lib/config/places.h"
#include "lib/config/policy.pb.h"
#include "lib/config/transforms.pb.h"
#include "lib/planning/variants.h"
#include "lib/records/train_settings.h"

namespace feedrate {
namespace {

// What the parts of resolving share.
struct ResolveContext {
  const Catalogue& catalogue;
  const FieldChecker& check;
  const SubjectDescriber& describe;
  // Set by ResolveScenarioAndMode.
  const Scenario* scenario = nullptr;
  const ModePolicy* mode = nullptr;
};

// Which scenario, transforms and libraries.

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
    if (absl::c_linear_search(combination.scenario(), scenario.name()) &&
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

// Asks each subject that does not say it for its transforms.
absl::Status DescribeSubjects(const ResolveContext& context,
                              Selection* selection) {
  const bool own = selection->mode() == "micro";
  for (int i = 0; i < selection->subjects_size(); ++i) {
    PythonSubject* const subject = selection->mutable_subjects(i);
    if (!subject->transforms().empty() || IsTorchFile(subject->name())) {
      continue;
    }
    const std::string path = absl::StrCat("selection.subjects[", i, "]");
    if (context.describe == nullptr) {
      if (!context.scenario->has_transforms()) continue;
      return context.check.Error(
          path, "its transforms are not known here; list them");
    }
    const absl::StatusOr<SubjectDescription> found =
        context.describe(*selection, subject->name());
    if (!found.ok()) {
      return context.check.Error(path, found.status().message());
    }
    if (own) {
      subject->mutable_transforms()->Assign(found->transforms.begin(),
                                            found->transforms.end());
    } else if (found->takes_transform) {
      *subject->mutable_transforms() = selection->transforms();
    } else if (!selection->transforms().empty()) {
      subject->add_transforms(selection->transforms(0));
    }
  }
  return absl::OkStatus();
}

absl::Status ResolveTransforms(const ResolveContext& context,
                               RunConfig* config) {
  Selection* selection = config->mutable_selection();
  const Scenario& scenario = *context.scenario;
  if (!scenario.has_transforms()) {
    if (selection->transforms().empty()) {
      return DescribeSubjects(context, selection);
    }
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
  const bool subjects_have_own =
      selection->mode() == "micro" && !selection->subjects().empty();
  std::vector<std::string> own;
  if (subjects_have_own) {
    RETURN_IF_ERROR(DescribeSubjects(context, selection));
    for (const PythonSubject& subject : selection->subjects()) {
      for (const std::string& name : subject.transforms()) {
        if (!absl::c_linear_search(own, name)) own.push_back(name);
      }
    }
  }
  if (selection->transforms().empty()) {
    RETURN_IF_ERROR(
        NotEmptyByFlag(context, "selection.transforms", "--transforms"));
    for (const std::string& name : subjects_have_own ? own : members) {
      selection->add_transforms(name);
    }
    return subjects_have_own ? absl::OkStatus()
                             : DescribeSubjects(context, selection);
  }
  members.insert(members.end(), own.begin(), own.end());
  const std::set<std::string> known(members.begin(), members.end());
  for (int i = 0; i < selection->transforms_size(); ++i) {
    const std::string& name = selection->transforms(i);
    if (known.count(name) > 0) continue;
    return context.check.Error(absl::StrCat("selection.transforms[", i, "]"),
                               WhyNoMember(name, scenario, *set, members));
  }
  RETURN_IF_ERROR(
      context.check.Distinct("selection.transforms", selection->transforms()));
  return DescribeSubjects(context, selection);
}

// Needs device and scope.
absl::Status ResolveLibraries(const ResolveContext& context,
                              RunConfig* config) {
  Selection* selection = config->mutable_selection();
  if (selection->libraries().empty()) {
    RETURN_IF_ERROR(
        NotEmptyByFlag(context, "selection.libraries", "--libraries"));
    return DefaultLibraries(context, config);
  }
  std::vector<std::string> known =
      NamesOf(context.catalogue.matrix().libraries());
  known.erase(std::remove(known.begin(), known.end(), kSubjectLibrary),
              known.end());
  for (int i = 0; i < selection->libraries_size(); ++i) {
    if (IsSubject(selection->libraries(i))) continue;
    RETURN_IF_ERROR(
        context.check.OneOf(absl::StrCat("selection.libraries[", i, "]"),
                            selection->libraries(i), known));
  }
  return context.check.Distinct("selection.libraries", selection->libraries());
}

absl::Status ResolveReference(const ResolveContext& context,
                              const Selection& selection) {
  constexpr char kPath[] = "selection.reference";
  if (!selection.has_reference()) return absl::OkStatus();
  if (selection.subjects().empty()) {
    return context.check.Error(
        kPath, "is for subjects; name one with --subject=MODULE:NAME");
  }
  if (!IsSubject(selection.reference())) {
    return context.check.OneOf(kPath, selection.reference(),
                               NamesOf(context.catalogue.matrix().libraries()));
  }
  if (context.describe == nullptr) return absl::OkStatus();
  const absl::Status found =
      context.describe(selection, selection.reference()).status();
  return found.ok() ? found : context.check.Error(kPath, found.message());
}

// How to run: what a sweep can vary, what it cannot, and the sweep itself.

// A job lists its runs; more are a slip of the keyboard.
constexpr int kMaxRuns = 10000;
// One day.
constexpr double kMaxMinTime = 86400;

std::vector<std::string> ThreadPoliciesOf(const ModePolicy& mode,
                                          const Policy& policy) {
  std::vector<std::string> names;
  for (const ThreadPolicy& threads : policy.threads()) {
    for (const std::string& name : threads.modes()) {
      if (name == mode.mode()) names.push_back(threads.name());
    }
  }
  return names;
}

// A mode without batches has no loader either.
bool HasLoader(const ModePolicy& mode) { return mode.default_batch_size() > 0; }

absl::Status ResolveBatchSize(const ModePolicy& mode, const FieldChecker& check,
                              Execution* execution) {
  if (HasLoader(mode)) {
    if (!execution->has_batch_size()) {
      execution->set_batch_size(mode.default_batch_size());
    }
    return check.AtLeast("execution.batch_size", execution->batch_size(), 1);
  }
  if (!execution->has_batch_size()) return absl::OkStatus();
  return check.Error(
      "execution.batch_size",
      absl::StrCat(execution->batch_size(), " is not possible: mode ",
                   mode.mode(), " takes items one by one; leave it out"));
}

absl::Status ResolveWorkers(const ModePolicy& mode, const LoaderPolicy& loader,
                            const FieldChecker& check, Execution* execution) {
  if (!execution->has_workers()) {
    execution->set_workers(loader.default_workers());
  }
  if (!HasLoader(mode) && execution->workers() != loader.micro_workers()) {
    return check.Error(
        "execution.workers",
        absl::StrCat(execution->workers(), " is not possible: mode ",
                     mode.mode(), " has no loader; use ",
                     loader.micro_workers()));
  }
  return check.AtLeast("execution.workers", execution->workers(), 0);
}

absl::Status ResolveNumItems(const ModePolicy& mode, const FieldChecker& check,
                             Data* data) {
  if (!data->has_num_items()) {
    // The policy's 0 is "all", which a config says by leaving it out.
    if (mode.default_num_items() > 0) {
      data->set_num_items(mode.default_num_items());
    }
    return absl::OkStatus();
  }
  return check.AtLeast("data.num_items", static_cast<double>(data->num_items()),
                       1);
}

// The fields that a sweep can vary. Looks at nothing else.
absl::Status ResolveVaried(const ResolveContext& context,
                           const FieldChecker& check, RunConfig* config) {
  const Policy& policy = context.catalogue.policy();
  const ModePolicy& mode = *context.mode;
  Execution* execution = config->mutable_execution();
  // `none` is how the public benchmark's configs say it.
  if (!execution->has_device() || execution->device() == "none") {
    execution->set_device("cpu");
  }
  RETURN_IF_ERROR(
      check.OneOf("execution.device", execution->device(), KnownDevices()));
  if (!execution->has_scope()) execution->set_scope(mode.default_scope());
  RETURN_IF_ERROR(check.OneOf("execution.scope", execution->scope(),
                              {mode.scopes().begin(), mode.scopes().end()}));
  if (!execution->has_thread_policy()) {
    execution->set_thread_policy(mode.default_thread_policy());
  }
  RETURN_IF_ERROR(check.OneOf("execution.thread_policy",
                              execution->thread_policy(),
                              ThreadPoliciesOf(mode, policy)));
  Selection* selection = config->mutable_selection();
  if (!selection->has_params_profile()) selection->set_params_profile("paper");
  RETURN_IF_ERROR(check.OneOf("selection.params_profile",
                              selection->params_profile(), KnownProfiles()));
  if (!execution->has_seed()) execution->set_seed(0);
  RETURN_IF_ERROR(ResolveBatchSize(mode, check, execution));
  RETURN_IF_ERROR(ResolveWorkers(mode, policy.loader(), check, execution));
  return ResolveNumItems(mode, check, config->mutable_data());
}

// The places of the config, but that of the swept field at its value.
Places PlacesOfValue(const FieldChecker& check, const SweepAxis& axis,
                     const std::string& value_path) {
  Places places = check.places();
  const std::string origin = places.Of(value_path);
  places.Set(FindSweptFlag(axis.name())->path,
             absl::StartsWith(origin, "--")
                 ? absl::StrCat(origin, ": ", axis.name())
                 : origin);
  return places;
}

// The fields that vary, at one value of the axis and checked.
absl::StatusOr<RunConfig> AtValue(const ResolveContext& context,
                                  const SweepAxis& axis, int index,
                                  const std::string& value_path,
                                  const RunConfig& config) {
  const FieldChecker& check = context.check;
  RunConfig varied;
  *varied.mutable_data() = config.data();
  *varied.mutable_execution() = config.execution();
  const absl::Status set =
      SetConfigField(*FindSweptFlag(axis.name()), axis.values(index), &varied);
  if (!set.ok()) {
    return check.Error(value_path,
                       absl::StrCat(axis.name(), ": ", set.message()));
  }
  if (!ResolveVaried(context, check, &varied).ok()) {
    // Again, with a place in the sweep. Only now: copying all places for each
    // of ten thousand values takes minutes.
    const FieldChecker at_value(PlacesOfValue(check, axis, value_path));
    RETURN_IF_ERROR(ResolveVaried(context, at_value, &varied));
  }
  return varied;
}

absl::Status CheckAxis(const ResolveContext& context, const SweepAxis& axis,
                       const std::string& path, const RunConfig& config) {
  const FieldChecker& check = context.check;
  if (axis.values().empty()) {
    return check.Error(path + ".values", "is empty; give at least one value");
  }
  RETURN_IF_ERROR(check.Distinct(path + ".values", axis.values()));
  std::set<std::string> seen;
  for (int i = 0; i < axis.values_size(); ++i) {
    const std::string value_path = absl::StrCat(path, ".values[", i, "]");
    const std::string& value = axis.values(i);
    if (value.empty()) {
      return check.Error(value_path, "is empty; write a value");
    }
    if (FindSweptFlag(axis.name()) == nullptr) continue;
    ASSIGN_OR_RETURN(const RunConfig varied,
                     AtValue(context, axis, i, value_path, config));
    // `1` and `01`, `cpu` and `none` would make the same jobs twice.
    if (seen.insert(varied.SerializeAsString()).second) continue;
    return check.Error(value_path,
                       absl::StrCat("\"", value, "\" is listed twice"));
  }
  return absl::OkStatus();
}

absl::Status ResolveExecution(const ResolveContext& context,
                              RunConfig* config) {
  RETURN_IF_ERROR(ResolveVaried(context, context.check, config));
  const FieldChecker& check = context.check;
  const Policy& policy = context.catalogue.policy();
  const MediaPolicy& media =
      *context.catalogue.FindMedia(context.scenario->media());
  Execution* e = config->mutable_execution();
  if (!e->has_num_runs()) e->set_num_runs(policy.runs().default_num_runs());
  RETURN_IF_ERROR(check.AtLeast("execution.num_runs", e->num_runs(), 1));
  RETURN_IF_ERROR(check.AtMost("execution.num_runs", e->num_runs(), kMaxRuns));
  if (!e->has_min_time()) e->set_min_time(policy.timing().min_time_s());
  RETURN_IF_ERROR(check.AtLeast("execution.min_time", e->min_time(), 0));
  RETURN_IF_ERROR(
      check.AtMost("execution.min_time", e->min_time(), kMaxMinTime));
  if (!e->has_min_batches()) e->set_min_batches(policy.timing().min_batches());
  RETURN_IF_ERROR(check.AtLeast("execution.min_batches", e->min_batches(), 1));
  if (!e->has_slow_threshold_s()) {
    e->set_slow_threshold_s(media.slow_threshold_s());
  }
  RETURN_IF_ERROR(
      check.Above("execution.slow_threshold_s", e->slow_threshold_s(), 0));
  if (!e->has_preflight_items()) {
    e->set_preflight_items(media.preflight_items());
  }
  RETURN_IF_ERROR(
      check.AtLeast("execution.preflight_items", e->preflight_items(), 1));
  if (!e->has_disable_slow_skip()) {
    e->set_disable_slow_skip(!media.slow_skip());
  }
  return absl::OkStatus();
}

absl::Status CheckSweep(const ResolveContext& context,
                        const RunConfig& config) {
  std::vector<std::string> axes;
  for (const OverrideFlag& flag : OverrideFlags()) {
    if ((flag.uses & kSwept) != 0) axes.push_back(flag.name);
  }
  axes.insert(axes.end(), context.mode->settings().begin(),
              context.mode->settings().end());
  if (context.mode->mode() == "train") {
    for (const std::string& name : TrainSettingNames()) axes.push_back(name);
  }
  for (int i = 0; i < config.sweep_size(); ++i) {
    const std::string path = absl::StrCat("sweep[", i, "]");
    const std::string& name = config.sweep(i).name();
    RETURN_IF_ERROR(context.check.OneOf(path + ".name", name, axes));
    for (int j = 0; j < i; ++j) {
      if (config.sweep(j).name() != name) continue;
      return context.check.Error(path + ".name",
                                 absl::StrCat("\"", name, "\" is swept twice"));
    }
    RETURN_IF_ERROR(CheckAxis(context, config.sweep(i), path, config));
  }
  return absl::OkStatus();
}

constexpr int kVersionRead = 1;

absl::Status CheckVersion(const FieldChecker& check, const RunConfig& config) {
  if (!config.has_version()) {
    return check.Error("version",
                       absl::StrCat("is missing; write ", kVersionRead));
  }
  if (config.version() == kVersionRead) return absl::OkStatus();
  return check.Error("version", absl::StrCat(config.version(),
                                             " is unknown; this program reads ",
                                             kVersionRead));
}

absl::Status ResolveSets(const FieldChecker& check, RunConfig* config) {
  Selection* selection = config->mutable_selection();
  if (!selection->has_transform_set()) selection->set_transform_set("paper");
  RETURN_IF_ERROR(check.OneOf("selection.transform_set",
                              selection->transform_set(), KnownSets()));
  if (!selection->has_env_set()) selection->set_env_set("paper");
  RETURN_IF_ERROR(check.OneOf("selection.env_set", selection->env_set(),
                              {"paper", "current"}));
  for (int i = 0; i < config->row_labels_size(); ++i) {
    RETURN_IF_ERROR(check.OneOf(absl::StrCat("row_labels[", i, "]"),
                                config->row_labels(i), KnownLabels()));
  }
  return absl::OkStatus();
}

absl::Status ResolveData(const ResolveContext& context, Data* data) {
  const FieldChecker& check = context.check;
  if (!data->has_dataset()) {
    data->set_dataset(
        absl::StrCat("synthetic:", context.scenario->short_name()));
  }
  if (!data->has_id()) {
    const absl::StatusOr<std::string> id = DatasetId(data->dataset());
    if (!id.ok()) return check.Error("data.dataset", id.status().message());
    data->set_id(*id);
  }
  // It becomes the name of a folder.
  if (data->id().empty() || data->id() == "." || data->id() == ".." ||
      absl::StrContains(data->id(), '/')) {
    return check.Error("data.id",
                       absl::StrCat("\"", data->id(),
                                    "\" is not possible; use a short name "
                                    "that is not a path"));
  }
  if (data->has_archive_bytes()) {
    RETURN_IF_ERROR(check.AtLeast(
        "data.archive_bytes", static_cast<double>(data->archive_bytes()), 1));
  }
  if (!data->has_sample_ratio()) data->set_sample_ratio(1);
  if (data->sample_ratio() > 0 && data->sample_ratio() <= 1) {
    return absl::OkStatus();
  }
  return check.Error("data.sample_ratio",
                     absl::StrCat(data->sample_ratio(),
                                  " is not possible; use a share above 0 and "
                                  "at most 1"));
}

absl::Status ResolveOutput(const FieldChecker& check, RunConfig* config) {
  if (!config->output().has_path()) config->mutable_output()->set_path("-");
  if (!config->output().path().empty()) return absl::OkStatus();
  return check.Error("output.path", "is empty; name a file or folder, or -");
}

// A region and a letter, such as `us-central1-a`: the region alone is a common
// slip, and would count into another region's quota.
bool IsZone(const std::string& zone) {
  const std::vector<std::string> parts = absl::StrSplit(zone, '-');
  return parts.size() >= 3 &&
         std::none_of(parts.begin(), parts.end(),
                      [](const std::string& part) { return part.empty(); });
}

absl::Status ResolveCloud(const FieldChecker& check,
                          const CloudPolicy& defaults, Cloud* cloud) {
  if (cloud->machine_type().empty()) {
    return check.Error("cloud.machine_type",
                       absl::StrCat("is missing; name one of the quota file, "
                                    "such as ",
                                    defaults.machine_type()));
  }
  if (!cloud->has_zone()) cloud->set_zone(defaults.zone());
  if (!IsZone(cloud->zone())) {
    return check.Error(
        "cloud.zone",
        absl::StrCat("\"", cloud->zone(), "\" is not a zone; write it as ",
                     defaults.zone()));
  }
  if (!cloud->has_disk_size_gb()) {
    cloud->set_disk_size_gb(defaults.disk_size_gb());
  }
  RETURN_IF_ERROR(check.AtLeast("cloud.disk_size_gb", cloud->disk_size_gb(),
                                defaults.min_disk_size_gb()));
  if (!cloud->has_timeout_hours()) return absl::OkStatus();
  return check.Above("cloud.timeout_hours", cloud->timeout_hours(), 0);
}

}  // namespace

absl::StatusOr<RunConfig> Resolve(const LoadedConfig& loaded,
                                  const Catalogue& catalogue,
                                  const SubjectDescriber& describe) {
  RunConfig config = loaded.config;
  const FieldChecker check(loaded.places);
  ResolveContext context{catalogue, check, describe};
  RETURN_IF_ERROR(CheckVersion(check, config));
  RETURN_IF_ERROR(ResolveScenarioAndMode(config, &context));
  RETURN_IF_ERROR(ResolveSets(check, &config));
  RETURN_IF_ERROR(NameSubjects(check, config.mutable_selection()));
  RETURN_IF_ERROR(ResolveTransforms(context, &config));
  RETURN_IF_ERROR(ResolveExecution(context, &config));
  RETURN_IF_ERROR(ResolveLibraries(context, &config));
  RETURN_IF_ERROR(ResolveReference(context, config.selection()));
  RETURN_IF_ERROR(ResolveData(context, config.mutable_data()));
  RETURN_IF_ERROR(ResolveOutput(check, &config));
  RETURN_IF_ERROR(ResolveMixture(check, context.mode->mode(),
                                 catalogue.policy().coverage().pipeline_crop(),
                                 &config));
  if (config.has_cloud()) {
    RETURN_IF_ERROR(ResolveCloud(check, catalogue.policy().cloud(),
                                 config.mutable_cloud()));
  }
  RETURN_IF_ERROR(CheckSweep(context, config));
  return config;
}

}  // namespace feedrate
