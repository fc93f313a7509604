// How to run: what a sweep can vary, what it cannot, and the sweep itself.
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"
#include "lib/catalogue/vocabulary.h"
#include "lib/planning/axis.h"
#include "lib/planning/resolve_context.h"

namespace feedrate {
namespace {

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

// The places of the config, but that of the swept field at its value.
Places PlacesOfValue(const FieldChecker& check, const SweepAxis& axis,
                     const std::string& value_path) {
  Places places = check.places();
  const std::string origin = places.Of(value_path);
  places.Set(FieldOfAxis(axis.name()),
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
  const absl::Status set = SetAxis(axis.name(), axis.values(index), &varied);
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
    if (FieldOfAxis(axis.name()).empty()) continue;
    ASSIGN_OR_RETURN(const RunConfig varied,
                     AtValue(context, axis, i, value_path, config));
    // `1` and `01`, `cpu` and `none` would make the same jobs twice.
    if (seen.insert(varied.SerializeAsString()).second) continue;
    return check.Error(value_path,
                       absl::StrCat("\"", value, "\" is listed twice"));
  }
  return absl::OkStatus();
}

}  // namespace

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
  std::vector<std::string> axes = FieldAxes();
  axes.insert(axes.end(), context.mode->settings().begin(),
              context.mode->settings().end());
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

}  // namespace feedrate
