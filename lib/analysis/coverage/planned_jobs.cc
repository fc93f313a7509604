#include "lib/analysis/coverage/planned_jobs.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "lib/analysis/rows/text_scan.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/catalogue/catalogue.h"
#include "lib/catalogue/published_numbers.h"
#include "lib/config/coverage.pb.h"
#include "lib/config/load.h"
#include "lib/config/overrides.h"
#include "lib/config/places.h"
#include "lib/config/run_config.pb.h"
#include "lib/config/text_proto.h"
#include "lib/planning/jobs.h"
#include "lib/planning/resolve.h"
#include "lib/records/job.pb.h"
#include "lib/records/job_identity.h"
#include "lib/records/record_io.h"
#include "lib/records/row.pb.h"

namespace feedrate {
namespace {

const std::string& DatasetOf(const Job& job) { return job.dataset(); }
const std::string& DatasetOf(const Row& row) { return row.dataset().id(); }

template <typename JobOrRow>
Fingerprint CellOf(const JobOrRow& r) {
  Fingerprint print;
  print.Add(r.scenario()).Add(r.mode()).Add(r.scope()).Add(r.library());
  print.Add(r.transform()).Add(r.device()).Add(r.params_profile());
  return print.Add(DatasetOf(r));
}

template <typename JobOrRow>
uint64_t IdentityOf(const JobOrRow& r) {
  Fingerprint print = CellOf(r);
  print.Number(r.num_items()).Number(r.batch_size()).Number(r.workers());
  print.Number(r.seed()).Add(r.thread_policy()).Add(r.params_sha256());
  // A hash map has no fixed order; a sum does not depend on it.
  uint64_t settings = 0;
  for (const auto& [name, value] : r.settings()) {
    settings += Fingerprint().Add(name).Add(value).value();
  }
  return print.Number(settings).value();
}

template <typename Map>
std::string SettingsText(const Map& settings) {
  const std::map<std::string, std::string> sorted(settings.begin(),
                                                  settings.end());
  std::string text;
  for (const auto& [name, value] : sorted) {
    absl::StrAppend(&text, text.empty() ? "" : ",", name, "=", value);
  }
  return text;
}

std::string Differs(absl::string_view field, absl::string_view found,
                    absl::string_view planned) {
  return absl::StrCat(field, " is ", found.empty() ? "nothing" : found,
                      ", planned is ", planned.empty() ? "nothing" : planned);
}

std::string NumberDifference(const Job& job, const Row& row) {
  struct Field {
    const char* name;
    int64_t found;
    int64_t planned;
  };
  for (const Field& f : {
           Field{"batch_size", row.batch_size(), job.batch_size()},
           Field{"num_items", row.num_items(), job.num_items()},
           Field{"workers", row.workers(), job.workers()},
           Field{"seed", row.seed(), job.seed()},
       }) {
    if (f.found != f.planned) {
      return Differs(f.name, absl::StrCat(f.found), absl::StrCat(f.planned));
    }
  }
  return "";
}

std::string TextDifference(const Job& job, const Row& row) {
  struct Field {
    const char* name;
    const std::string& found;
    const std::string& planned;
  };
  for (const Field& f : {
           Field{"scenario", row.scenario(), job.scenario()},
           Field{"mode", row.mode(), job.mode()},
           Field{"scope", row.scope(), job.scope()},
           Field{"library", row.library(), job.library()},
           Field{"transform", row.transform(), job.transform()},
           Field{"device", row.device(), job.device()},
           Field{"thread_policy", row.thread_policy(), job.thread_policy()},
           Field{"params_profile", row.params_profile(), job.params_profile()},
           Field{"dataset", row.dataset().id(), job.dataset()},
           Field{"params_sha256", row.params_sha256(), job.params_sha256()},
       }) {
    if (f.found.empty() || f.found == f.planned) continue;
    return Differs(f.name, f.found, f.planned);
  }
  return "";
}

}  // namespace

std::string PlaceOf(const Job& job) {
  return job.hardware_class() == kHostCpu ? kHostCpu : job.device();
}

std::string Subject(const Job& job) {
  std::string text = absl::StrCat(job.scenario(), " ", job.mode(), " ",
                                  job.scope(), " ", PlaceOf(job), " ");
  absl::StrAppend(&text, job.library(), job.transform().empty() ? "" : " ",
                  job.transform());
  if (job.batch_size() > 0) absl::StrAppend(&text, " b", job.batch_size());
  const std::string settings = SettingsText(job.settings());
  if (!settings.empty()) absl::StrAppend(&text, " ", settings);
  return text;
}

void PlannedJobs::Add(const Job& job) {
  const auto [entry, is_new] = by_id_.try_emplace(
      {job.job_id(), job.hardware_class() == kHostCpu}, size());
  if (is_new) {
    Job bare = job;
    bare.clear_run_indexes();
    bare.clear_config();
    const auto known =
        std::find(configs_.begin(), configs_.end(), job.config());
    const size_t config = known - configs_.begin();
    if (known == configs_.end()) configs_.push_back(job.config());
    jobs_.push_back({bare.SerializeAsString(), config, {}, IdentityOf(job)});
    by_cell_.try_emplace(CellOf(job).value(), size() - 1);
    by_batch_.try_emplace(CellOf(job).Number(job.batch_size()).value(),
                          size() - 1);
  }
  std::vector<int32_t>& runs = jobs_[entry->second].runs;
  runs.insert(runs.end(), job.run_indexes().begin(), job.run_indexes().end());
  std::sort(runs.begin(), runs.end());
  runs.erase(std::unique(runs.begin(), runs.end()), runs.end());
  runs.shrink_to_fit();
}

Job PlannedJobs::Get(int index) const {
  Job job;
  job.ParseFromString(jobs_[index].wire);
  const std::string& config = configs_[jobs_[index].config];
  if (!config.empty()) job.set_config(config);
  const std::vector<int32_t>& runs = jobs_[index].runs;
  job.mutable_run_indexes()->Add(runs.begin(), runs.end());
  return job;
}

bool PlannedJobs::HasRun(int index, int32_t run) const {
  const std::vector<int32_t>& runs = jobs_[index].runs;
  return std::binary_search(runs.begin(), runs.end(), run);
}

int64_t PlannedJobs::total_runs() const {
  int64_t total = 0;
  for (const Entry& entry : jobs_) total += entry.runs.size();
  return total;
}

int PlannedJobs::Find(const Row& row) const {
  const bool on_host = row.hardware_class() == kHostCpu;
  for (const bool host : {on_host, !on_host}) {
    const auto found = by_id_.find({row.job_id(), host});
    if (found != by_id_.end()) return found->second;
  }
  return -1;
}

int PlannedJobs::FindCell(const Row& row) const {
  Fingerprint cell = CellOf(row);
  const auto found = by_cell_.find(cell.value());
  if (found == by_cell_.end()) return -1;
  const auto same = by_batch_.find(cell.Number(row.batch_size()).value());
  return same == by_batch_.end() ? found->second : same->second;
}

std::string PlannedJobs::Difference(int index, const Row& row) const {
  if (jobs_[index].identity == IdentityOf(row)) return "";
  // A row without the job's fields has nothing to compare but its id.
  if (row.scenario().empty()) return "";
  const Job job = Get(index);
  const std::string numbers = NumberDifference(job, row);
  if (!numbers.empty()) return numbers;
  const std::string texts = TextDifference(job, row);
  if (!texts.empty()) return texts;
  const std::string found = SettingsText(row.settings());
  const std::string planned = SettingsText(job.settings());
  return found.empty() || found == planned
             ? ""
             : Differs("settings", found, planned);
}

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
  if (entry.has_scope()) overrides.Set("scope", entry.scope());
  if (!entry.libraries().empty()) {
    overrides.Set("libraries", absl::StrJoin(entry.libraries(), ","));
  }
  if (!entry.transforms().empty()) {
    overrides.Set("transforms", absl::StrJoin(entry.transforms(), ","));
  }
  if (entry.has_num_runs()) {
    overrides.Set("num_runs", absl::StrCat(entry.num_runs()));
  }
  if (num_runs > 0) overrides.Set("num_runs", absl::StrCat(num_runs));
  return overrides;
}

// Adds the place of the profile's entry to the error of an override, which has
// none.
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
