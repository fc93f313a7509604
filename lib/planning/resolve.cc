#include "lib/planning/resolve.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/catalogue/catalogue.h"
#include "lib/catalogue/vocabulary.h"
#include "lib/config/field_checker.h"
#include "lib/config/load.h"
#include "lib/config/run_config.pb.h"
#include "lib/planning/mixture_config.h"
#include "lib/planning/resolve_context.h"

namespace feedrate {
namespace {

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
  if (data->id().empty() || absl::StrContains(data->id(), '/')) {
    return check.Error("data.id",
                       absl::StrCat("\"", data->id(),
                                    "\" is not possible; use a short name "
                                    "without slashes"));
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
    return check.Error("cloud.zone", absl::StrCat("\"", cloud->zone(),
                                                  "\" is no zone; write it as ",
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
                                  const Catalogue& catalogue) {
  RunConfig config = loaded.config;
  const FieldChecker check(loaded.places);
  ResolveContext context{catalogue, check};
  RETURN_IF_ERROR(CheckVersion(check, config));
  RETURN_IF_ERROR(ResolveScenarioAndMode(config, &context));
  RETURN_IF_ERROR(ResolveSets(check, &config));
  RETURN_IF_ERROR(ResolveTransforms(context, &config));
  RETURN_IF_ERROR(ResolveExecution(context, &config));
  RETURN_IF_ERROR(ResolveLibraries(context, &config));
  RETURN_IF_ERROR(ResolveData(context, config.mutable_data()));
  RETURN_IF_ERROR(ResolveOutput(check, &config));
  RETURN_IF_ERROR(ResolveMixture(context, &config));
  if (config.has_cloud()) {
    RETURN_IF_ERROR(ResolveCloud(check, catalogue.policy().cloud(),
                                 config.mutable_cloud()));
  }
  RETURN_IF_ERROR(CheckSweep(context, config));
  return config;
}

}  // namespace feedrate
