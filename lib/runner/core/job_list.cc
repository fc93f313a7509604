#include "lib/runner/core/job_list.h"

#include <algorithm>
#include <memory>
#include <set>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/catalogue/catalogue.h"
#include "lib/catalogue/published_numbers.h"
#include "lib/config/load.h"
#include "lib/config/text_proto.h"
#include "lib/planning/resolve.h"
#include "lib/planning/subjects.h"
#include "lib/records/attempts.h"
#include "lib/records/job_identity.h"
#include "lib/records/record_io.h"
#include "lib/records/row.pb.h"

namespace feedrate {

absl::StatusOr<std::vector<Job>> ReadJobFile(const std::string& path) {
  std::vector<Job> jobs;
  std::string first_problem;
  RecordReader reader(
      [&](absl::string_view record, JsonReader& json) -> absl::Status {
        if (record != "job") return absl::OkStatus();
        return json.Read(&jobs.emplace_back());
      },
      [&](const std::string& problem) {
        if (first_problem.empty()) first_problem = problem;
      });
  RETURN_IF_ERROR(reader.ReadFile(path));
  // Unlike rows, jobs must be complete: a plan that was cut off is an error.
  if (!first_problem.empty()) {
    return absl::InvalidArgumentError(first_problem);
  }
  return jobs;
}

absl::Status TooLate(absl::string_view flag) {
  return absl::InvalidArgumentError(
      absl::StrCat("--", flag,
                   " changes a config, and jobs are planned already; give it "
                   "to plan, or use --config"));
}

absl::Status CheckNothingIsLate(const Overrides& overrides) {
  for (const OverrideFlag& flag : OverrideFlags()) {
    if ((flag.uses & (kAppliesLate | kAllowedLate)) == 0 &&
        overrides.Has(flag.name)) {
      return TooLate(flag.name);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckSubjectsNamed(const std::vector<Job>& jobs,
                                const Overrides& overrides) {
  const std::vector<std::string> named = overrides.ListOf("subject");
  for (const Job& job : jobs) {
    if (!IsSubject(job.library()) ||
        absl::c_linear_search(named, job.library())) {
      continue;
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "job ", PrintableText(job.job_id()), " would import and run \"",
        PrintableText(job.library()),
        "\", which only the file of jobs names; if you trust that code, name "
        "it with --subject too"));
  }
  return absl::OkStatus();
}

namespace {

// What else a file of jobs could make this program run: an interpreter, and the
// subject that outputs are compared with.
absl::Status CheckConfigNamed(const Selection& selection,
                              const std::vector<Job>& jobs,
                              const Overrides& flags) {
  const bool any_subject = absl::c_any_of(
      jobs, [](const Job& job) { return IsSubject(job.library()); });
  if (any_subject && !selection.python().empty() && !flags.Has("python")) {
    return absl::InvalidArgumentError(
        absl::StrCat("the jobs were planned for the interpreter \"",
                     PrintableText(selection.python()),
                     "\"; name the one to use with --python"));
  }
  Job reference;
  reference.set_job_id(jobs[0].job_id());
  reference.set_library(selection.reference());
  if (flags.Has("reference")) return absl::OkStatus();
  return CheckSubjectsNamed({reference}, flags);
}

// Keeps only the jobs that are also in the file. `duel` uses this to run
// suspects again; its file may also name the null job, which is in no plan.
absl::Status KeepJobsOfFile(const std::string& path, JobList* list) {
  ASSIGN_OR_RETURN(const std::vector<Job> wanted, ReadJobFile(path));
  std::set<std::string> ids;
  for (const Job& job : wanted) ids.insert(job.job_id());
  const auto is_unwanted = [&](const Job& job) {
    return ids.count(job.job_id()) == 0;
  };
  list->jobs.erase(
      std::remove_if(list->jobs.begin(), list->jobs.end(), is_unwanted),
      list->jobs.end());
  if (!list->jobs.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--jobs: no job of ", path, " is in the plan of --config"));
}

// Completes a config by what its jobs measure: libraries, transforms, and
// values of sweeps, each in the order in which they first appear.
class MeasuredPart {
 public:
  explicit MeasuredPart(RunConfig* config) : config_(*config) {
    config_.mutable_selection()->clear_libraries();
    config_.mutable_selection()->clear_transforms();
    for (SweepAxis& axis : *config_.mutable_sweep()) axis.clear_values();
  }

  void Add(const Job& job) {
    Selection* const selection = config_.mutable_selection();
    AddOnce("library", job.library(), selection->mutable_libraries());
    AddOnce("transform", job.transform(), selection->mutable_transforms());
    for (SweepAxis& axis : *config_.mutable_sweep()) {
      AddOnce(axis.name(), ValueOf(job, axis.name()), axis.mutable_values());
    }
  }

 private:
  template <typename Values>
  void AddOnce(const std::string& name, const std::string& value,
               Values* values) {
    if (value.empty() || !known_.emplace(name, value).second) return;
    *values->Add() = value;
  }

  // An axis is a setting of the mode or a field of the job.
  static std::string ValueOf(const Job& job, const std::string& axis) {
    const auto setting = job.settings().find(axis);
    if (setting != job.settings().end()) return setting->second;
    const auto* const field = job.GetDescriptor()->FindFieldByName(axis);
    if (field == nullptr || field->is_repeated()) return "";
    const google::protobuf::Reflection& reflection = *job.GetReflection();
    switch (field->cpp_type()) {
      case google::protobuf::FieldDescriptor::CPPTYPE_INT32:
        return absl::StrCat(reflection.GetInt32(job, field));
      case google::protobuf::FieldDescriptor::CPPTYPE_INT64:
        return absl::StrCat(reflection.GetInt64(job, field));
      case google::protobuf::FieldDescriptor::CPPTYPE_STRING:
        return reflection.GetString(job, field);
      default:
        return "";
    }
  }

  RunConfig& config_;
  std::set<std::pair<std::string, std::string>> known_;
};

absl::StatusOr<JobList> PlanJobs(const JobSource& source,
                                 const Catalogue& catalogue) {
  JobList list;
  ASSIGN_OR_RETURN(const LoadedConfig loaded,
                   LoadConfig(source.config, source.overrides));
  ASSIGN_OR_RETURN(list.config, Resolve(loaded, catalogue,
                                        DescribeWithPython(
                                            catalogue, source.subject_prefix)));
  ASSIGN_OR_RETURN(const PublishedNumbers published,
                   PublishedNumbers::Load(catalogue.configs_dir()));
  const CostModel cost(catalogue.policy(), published);
  PlanOutput output;
  output.job = [&](const Job& job) {
    list.jobs.push_back(job);
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(
      ForEachJob({list.config, loaded.places, catalogue, cost}, output));
  list.dataset = list.config.data().dataset();
  if (source.jobs != "-") {
    RETURN_IF_ERROR(KeepJobsOfFile(source.jobs, &list));
  }
  MeasuredPart part(&list.config);
  for (const Job& job : list.jobs) part.Add(job);
  list.config_text = WithoutQueries(PrintTextProto(list.config));
  return list;
}

absl::StatusOr<JobList> ReadJobs(const JobSource& source) {
  RETURN_IF_ERROR(CheckNothingIsLate(source.overrides));
  JobList list;
  ASSIGN_OR_RETURN(list.jobs, ReadJobFile(source.jobs));
  RETURN_IF_ERROR(CheckSubjectsNamed(list.jobs, source.overrides));
  return list;
}

absl::Status SetFlags(const Overrides& flags, RunConfig* config) {
  config->mutable_output()->set_path("-");
  for (const OverrideFlag& flag : OverrideFlags()) {
    if (!flags.Has(flag.name) || (flag.uses & kAppliesLate) == 0) continue;
    RETURN_IF_ERROR(SetConfigField(flag, flags.ValueOr(flag.name, ""), config));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadConfigs(const Overrides& flags, JobList* list) {
  // In the order of their first jobs.
  std::vector<std::unique_ptr<RunConfig>> configs;
  std::map<std::string, std::unique_ptr<MeasuredPart>> parts;
  for (Job& job : list->jobs) {
    if (flags.Has("label")) job.set_label(flags.ValueOr("label", ""));
    if (flags.Has("note")) job.set_note(flags.ValueOr("note", ""));
    std::unique_ptr<MeasuredPart>& part = parts[job.config()];
    if (part == nullptr) {
      configs.push_back(std::make_unique<RunConfig>());
      RunConfig* const config = configs.back().get();
      if (job.has_config()) {
        RETURN_IF_ERROR(ParseTextProto(
            job.config(), absl::StrCat("config of job ", job.job_id()),
            config));
      }
      if (job.has_label()) config->set_label(job.label());
      if (job.has_note()) config->set_note(job.note());
      RETURN_IF_ERROR(SetFlags(flags, config));
      part = std::make_unique<MeasuredPart>(config);
    }
    part->Add(job);
  }
  list->config = *configs[0];
  list->dataset = list->config.data().dataset();
  for (const std::unique_ptr<RunConfig>& config : configs) {
    // Data sets of several configs are where the ids of their jobs say.
    if (config->data().dataset() != list->dataset) list->dataset.clear();
    absl::StrAppend(&list->config_text, list->config_text.empty() ? "" : "\n",
                    WithoutQueries(PrintTextProto(*config)));
  }
  return absl::OkStatus();
}

namespace {

// Names that become parts of paths: of workers, environments and result files.
absl::Status CheckNames(const Job& job) {
  const std::string id = absl::StrCat("job ", PrintableText(job.job_id()));
  // What a worker is told must fit into a line, lib/worker/message.h.
  constexpr size_t kMostBytes = size_t{1} << 19;
  const size_t bytes = job.ByteSizeLong() - job.config().size();
  if (bytes > kMostBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        id, ": has ", bytes, " bytes, and a job may have ", kMostBytes));
  }
  const std::pair<const char*, const std::string&> names[] = {
      {"library", job.library()},
      {"env_group", job.env_group()},
      {"env_set", job.env_set()}};
  for (const auto& [field, name] : names) {
    if (name.empty() || IsSubject(name) || FileNameOf(name) == name) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(id, ": ", field, " \"", PrintableText(name),
                     "\" is not a name; use letters, digits, - and _"));
  }
  if (job.output().empty()) return absl::OkStatus();
  const absl::Status inside = CheckStaysBelow(job.output());
  if (inside.ok()) return inside;
  return absl::InvalidArgumentError(
      absl::StrCat(id, ": output: ", PrintableText(inside.message())));
}

absl::Status CheckJob(const Job& job, const std::string& tool,
                      const Catalogue& catalogue) {
  RETURN_IF_ERROR(CheckNames(job));
  const Scenario* scenario = catalogue.FindScenario(job.scenario());
  const ModePolicy* mode =
      scenario == nullptr ? nullptr
                          : catalogue.FindMode(job.mode(), scenario->media());
  if (mode == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("job ", job.job_id(), ": scenario \"", job.scenario(),
                     "\" has no mode \"", job.mode(), "\" in the policy"));
  }
  if (mode->tool() == tool) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("job ", job.job_id(), " (", job.scenario(), ", ", job.mode(),
                   ") is not for ", tool, "; run it with ", mode->tool()));
}

}  // namespace

namespace {

absl::Status AddSetting(const std::string& name, const std::string& label,
                        std::vector<Job>* jobs) {
  for (Job& job : *jobs) {
    if (!IsSubject(job.library())) {
      return absl::InvalidArgumentError(
          absl::StrCat("--", name, " is for subjects; leave out ",
                       job.library(), ", or name it with --reference"));
    }
    (*job.mutable_settings())[name] = "true";
    for (const std::string& one : {name, label}) {
      if (one.empty() || absl::c_linear_search(job.labels(), one)) continue;
      job.add_labels(one);
    }
    job.set_job_id(JobId(job));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<JobList> LoadJobList(const JobSource& given,
                                    const Catalogue& catalogue) {
  JobSource source = given;
  // What a subject needs beside its name is in a config of its own. If jobs are
  // given, the flag says which code they may run.
  if (source.config.empty() && source.jobs == "-" && !source.jobs_given &&
      source.overrides.Has("subject")) {
    source.config = JoinPath(
        catalogue.configs_dir(),
        absl::StrCat(
            "subjects/",
            source.subject_config.empty() ? source.tool : source.subject_config,
            ".textproto"));
  }
  ASSIGN_OR_RETURN(JobList list, source.config.empty()
                                     ? ReadJobs(source)
                                     : PlanJobs(source, catalogue));
  if (list.jobs.empty()) {
    return absl::InvalidArgumentError(
        source.config.empty()
            ? absl::StrCat("no jobs on standard input; ",
                           ProgramCommand("plan"), " --config=FILE makes them")
            : absl::StrCat(source.config, ": nothing to run"));
  }
  for (const Job& job : list.jobs) {
    RETURN_IF_ERROR(CheckJob(job, source.tool, catalogue));
  }
  if (!source.subject_setting.empty()) {
    RETURN_IF_ERROR(
        AddSetting(source.subject_setting, source.subject_label, &list.jobs));
  }
  if (!source.config.empty()) return list;
  const Overrides& flags = source.overrides;
  RETURN_IF_ERROR(ReadConfigs(flags, &list));
  RETURN_IF_ERROR(CheckConfigNamed(list.config.selection(), list.jobs, flags));
  const std::string dataset = flags.ValueOr("dataset", "");
  if (!dataset.empty()) {
    ASSIGN_OR_RETURN(const std::string id, DatasetId(dataset));
    for (const Job& job : list.jobs) {
      if (job.dataset() == id) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("--dataset: its id is \"", id, "\", but job ",
                       job.job_id(), " is for \"", job.dataset(), "\""));
    }
  }
  return list;
}

absl::Status DoneRuns::Read(
    const std::vector<std::string>& files,
    const std::function<void(const std::string&)>& warn) {
  Row row;
  RecordReader reader(
      [&](absl::string_view record, JsonReader& json) -> absl::Status {
        if (record != "row") return absl::OkStatus();
        row.Clear();
        RETURN_IF_ERROR(json.Read(&row));
        int32_t& next = attempts_[{row.job_id(), row.run_index()}];
        next = std::max(next, row.attempt() + 1);
        const std::string cache = PageCacheOf(row);
        // What is only partly cold may be either.
        if (cold_.has_value() && row.status() == "ok" && !cache.empty() &&
            (cache == "cold") != *cold_) {
          return absl::OkStatus();
        }
        const std::optional<int32_t> cpus = cpus_of_(row.mode());
        if (row.has_usable_cpus() != cpus.has_value() ||
            row.usable_cpus() != cpus.value_or(0)) {
          return absl::OkStatus();
        }
        const std::string version = version_of_(row.library());
        if (version.empty() || row.library_version().empty() ||
            row.library_version() == version) {
          existing_.Add(row);
        }
        return absl::OkStatus();
      },
      warn);
  for (const std::string& file : files) {
    RETURN_IF_ERROR(reader.ReadFile(file));
  }
  return absl::OkStatus();
}

int32_t DoneRuns::NextAttempt(const std::string& job_id,
                              int32_t run_index) const {
  const auto found = attempts_.find({job_id, run_index});
  return found == attempts_.end() ? 0 : found->second;
}

}  // namespace feedrate
