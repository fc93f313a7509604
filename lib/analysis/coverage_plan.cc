#include "lib/analysis/coverage_plan.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "lib/analysis/planned_jobs.h"
#include "lib/base/files.h"
#include "lib/base/override_flags.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/catalogue/catalogue.h"
#include "lib/catalogue/published_numbers.h"
#include "lib/config/coverage.pb.h"
#include "lib/config/load.h"
#include "lib/config/places.h"
#include "lib/config/run_config.pb.h"
#include "lib/config/text_proto.h"
#include "lib/planning/jobs.h"
#include "lib/planning/resolve.h"
#include "lib/records/job_identity.h"
#include "lib/records/record_io.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

constexpr char kEnding[] = ".textproto";

absl::Status CheckProfile(const CoverageProfile& profile,
                          const Places& places) {
  if (!profile.has_description()) {
    return places.Error("description", "is missing; say what it stands for");
  }
  if (profile.entries().empty()) {
    return places.Error("entries", "there are none; name a run config");
  }
  for (int i = 0; i < profile.entries_size(); ++i) {
    const std::string path = absl::StrCat("entries[", i, "]");
    const CoverageEntry& entry = profile.entries(i);
    if (entry.config().empty()) {
      return places.Error(path, "has no config");
    }
    if (entry.has_num_runs() && entry.num_runs() < 1) {
      return places.Error(absl::StrCat(path, ".num_runs"),
                          "must be at least 1");
    }
  }
  return absl::OkStatus();
}

Overrides OverridesOf(const CoverageEntry& entry, int32_t num_runs) {
  Overrides overrides;
  if (entry.has_scope()) overrides.scope = entry.scope();
  if (!entry.libraries().empty()) {
    overrides.libraries.emplace(entry.libraries().begin(),
                                entry.libraries().end());
  }
  if (!entry.transforms().empty()) {
    overrides.transforms.emplace(entry.transforms().begin(),
                                 entry.transforms().end());
  }
  if (entry.has_num_runs()) overrides.num_runs = entry.num_runs();
  if (num_runs > 0) overrides.num_runs = num_runs;
  return overrides;
}

// Errors of an override come without a file; the profile's entry is the place.
absl::Status At(const Places& places, int entry, const absl::Status& status) {
  if (status.ok() || !absl::StartsWith(status.message(), "--")) return status;
  return absl::Status(
      status.code(),
      absl::StrCat(places.Of(absl::StrCat("entries[", entry, "]")), ": ",
                   absl::StripPrefix(status.message(), "--")));
}

absl::Status AddEntry(const std::string& config, const Overrides& overrides,
                      const Catalogue& catalogue, const CostModel& cost,
                      PlannedJobs* jobs) {
  ASSIGN_OR_RETURN(const LoadedConfig loaded, LoadConfig(config, overrides));
  ASSIGN_OR_RETURN(const RunConfig resolved, Resolve(loaded, catalogue));
  PlanOutput output;
  output.job = [jobs](const Job& job) {
    jobs->Add(job);
    return absl::OkStatus();
  };
  return ForEachJob({resolved, loaded.places, catalogue, cost}, output);
}

absl::Status AddProfile(const CoveragePlanOptions& options,
                        const Catalogue& catalogue, PlannedJobs* jobs) {
  CoverageProfile profile;
  Places places(options.profile);
  RETURN_IF_ERROR(ReadTextProto(options.profile, &profile, &places));
  RETURN_IF_ERROR(CheckProfile(profile, places));
  ASSIGN_OR_RETURN(const PublishedNumbers published,
                   PublishedNumbers::Load(catalogue.configs_dir()));
  const CostModel cost(catalogue.policy(), published);
  const std::string folder = ParentFolder(options.profile);
  bool has_optional = false;
  for (int i = 0; i < profile.entries_size(); ++i) {
    const CoverageEntry& entry = profile.entries(i);
    has_optional |= entry.optional_libraries();
    if (entry.optional_libraries() && !options.require_optional_libraries) {
      continue;
    }
    RETURN_IF_ERROR(At(
        places, i,
        AddEntry(JoinPath(folder, entry.config()),
                 OverridesOf(entry, options.num_runs), catalogue, cost, jobs)));
  }
  if (options.require_optional_libraries && !has_optional && options.warn) {
    options.warn(
        absl::StrCat(options.profile, ": owes nothing of optional libraries"));
  }
  return absl::OkStatus();
}

absl::Status CheckJob(const Job& job) {
  if (job.job_id() != JobId(job)) {
    return absl::InvalidArgumentError(
        absl::StrCat("job_id \"", job.job_id(),
                     "\" is not that of the job's fields, which "
                     "is ",
                     JobId(job)));
  }
  if (job.run_indexes().empty()) {
    return absl::InvalidArgumentError("a job without run_indexes");
  }
  return absl::OkStatus();
}

absl::Status AddPlan(const std::string& path, PlannedJobs* jobs) {
  Job job;
  std::string first_problem;
  RecordReader reader(
      [&](absl::string_view record, JsonReader& json) -> absl::Status {
        if (record != "job") return absl::OkStatus();
        RETURN_IF_ERROR(json.Read(&job));
        RETURN_IF_ERROR(CheckJob(job));
        jobs->Add(job);
        return absl::OkStatus();
      },
      [&](const std::string& text) {
        if (first_problem.empty()) first_problem = text;
      });
  RETURN_IF_ERROR(reader.ReadFile(path));
  if (!first_problem.empty()) {
    return absl::InvalidArgumentError(first_problem);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> FindProfile(const std::string& coverage,
                                        const std::string& configs_dir) {
  if (absl::StrContains(coverage, '/') || absl::EndsWith(coverage, kEnding)) {
    return coverage;
  }
  const std::string folder = JoinPath(configs_dir, "coverage");
  const std::string path = JoinPath(
      folder,
      absl::StrCat(absl::StrReplaceAll(coverage, {{"-", "_"}}), kEnding));
  if (IsFile(path)) return path;
  std::vector<std::string> known;
  const auto files = ListFiles(folder, kEnding, /*recursive=*/false);
  if (files.ok()) {
    for (const std::string& file : *files) {
      known.push_back(absl::StrReplaceAll(
          absl::StripSuffix(BaseName(file), kEnding), {{"_", "-"}}));
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--coverage: \"", coverage, "\" is neither a profile nor a ",
                   "file ending in ", kEnding, DidYouMean(coverage, known)));
}

absl::StatusOr<PlannedJobs> LoadCoveragePlan(const CoveragePlanOptions& options,
                                             const Catalogue& catalogue) {
  PlannedJobs jobs;
  if (!options.profile.empty()) {
    RETURN_IF_ERROR(AddProfile(options, catalogue, &jobs));
  }
  if (!options.plan.empty()) RETURN_IF_ERROR(AddPlan(options.plan, &jobs));
  if (jobs.size() == 0) {
    return absl::InvalidArgumentError(
        options.plan.empty()
            ? "nothing is owed; name a profile with --coverage or a plan with "
              "--plan"
            : absl::StrCat(options.plan, ": no job in this plan"));
  }
  return jobs;
}

}  // namespace feedrate
