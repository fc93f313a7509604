#include "lib/planning/emit/emit.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/base/unique_fd.h"
#include "lib/config/policy.pb.h"
#include "lib/config/run_config.pb.h"
#include "lib/config/text_proto.h"
#include "lib/planning/emit/campaign.h"
#include "lib/planning/emit/template_files.h"
#include "lib/planning/plan_session.h"
#include "lib/planning/plan_summary.h"
#include "lib/records/job.pb.h"
#include "lib/records/job_identity.h"
#include "lib/records/json.h"
#include "lib/records/record_io.h"

namespace feedrate {
void ShellSettings::Comment(absl::string_view text) {
  absl::StrAppend(&text_, "# ", text, "\n");
}

void ShellSettings::Set(absl::string_view name, absl::string_view value) {
  absl::StrAppend(&text_, name, "=", ShellWord(value), "\n");
}

void ShellSettings::SetList(absl::string_view name,
                            const std::vector<std::string>& words) {
  absl::StrAppend(&text_, name, "=(");
  for (size_t i = 0; i < words.size(); ++i) {
    absl::StrAppend(&text_, i == 0 ? "" : " ", ShellWord(words[i]));
  }
  text_ += ")\n";
}

std::string Template(absl::string_view name) {
  for (const TemplateFile& file : kTemplateFiles) {
    // A raw string begins with the newline that the generator writes.
    if (name == file.name) return std::string(file.text + 1);
  }
  LOG(FATAL) << "no template " << name;
}

std::string FillTemplate(absl::string_view name,
                         const std::map<std::string, std::string>& values) {
  std::string text = Template(name);
  for (const auto& [key, value] : values) {
    const int count =
        absl::StrReplaceAll({{absl::StrCat("@", key, "@"), value}}, &text);
    CHECK_GT(count, 0) << name << " has no @" << key << "@";
  }
  return text;
}

namespace {

absl::Status FileError(const std::string& path, const char* what) {
  return absl::UnavailableError(
      absl::StrCat(path, ": cannot ", what, ": ", strerror(errno)));
}

// Without the slashes that end it.
std::string Trimmed(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

std::string TaskFile(const std::string& name, absl::string_view ending) {
  return absl::StrCat("tasks/", name, ending);
}

}  // namespace

void SetSubjects(const Selection& selection, ShellSettings* settings) {
  std::vector<std::string> names;
  for (const PythonSubject& subject : selection.subjects()) {
    names.push_back(subject.name());
  }
  settings->Set("SUBJECTS", absl::StrJoin(names, ","));
  settings->Set("PYTHON", selection.python());
}

namespace {

std::string TaskSettings(const CampaignTask& task, const RunConfig& config) {
  const Data& data = config.data();
  ShellSettings settings;
  settings.Set("TOOL", task.tool);
  // Synthetic images are made from the job's own words.
  const bool is_path = data.dataset().find("synthetic:") != 0;
  settings.Set("DATASET", is_path ? data.dataset() : "");
  settings.Set("DATASET_ID", data.id());
  SetSubjects(config.selection(), &settings);
  settings.Set("ARCHIVE", data.archive());
  settings.Set("ARCHIVE_BYTES", data.has_archive_bytes()
                                    ? absl::StrCat(data.archive_bytes())
                                    : "");
  return settings.text();
}

absl::StatusOr<std::string> BinFolder(const CampaignOptions& options) {
  if (!options.bin.empty()) return options.bin;
  ASSIGN_OR_RETURN(const std::string program, ProgramPath());
  const std::string folder = ParentFolder(program);
  // A bundle starts from bin/ what is in libexec/ (tools/programs).
  const std::string bin = JoinPath(ParentFolder(folder), "bin");
  return IsFile(JoinPath(bin, "plan")) ? bin : folder;
}

// Writes the jobs of one task after the other.
class TaskWriter {
 public:
  explicit TaskWriter(std::string folder) : folder_(std::move(folder)) {}

  absl::Status Write(const CampaignTask& task, const Job& job) {
    if (writer_ == nullptr || name_ != task.name) {
      RETURN_IF_ERROR(Finish());
      name_ = task.name;
      const std::string path = JoinPath(folder_, TaskFile(name_, ".jsonl"));
      fd_.Reset(
          open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
      if (!fd_.valid()) return FileError(path, "write");
      writer_ = std::make_unique<RecordWriter>(fd_.get(), path,
                                               RecordWriter::Flush::kWhenFull);
    }
    return writer_->Write(job);
  }

  absl::Status Finish() {
    return writer_ == nullptr ? absl::OkStatus() : writer_->Finish();
  }

 private:
  const std::string folder_;
  std::string name_;
  UniqueFd fd_;
  std::unique_ptr<RecordWriter> writer_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CampaignFolder>> CampaignFolder::Create(
    const std::string& path) {
  const std::string target = Trimmed(path);
  std::error_code error;
  if (std::filesystem::exists(target, error) &&
      !std::filesystem::is_empty(target, error)) {
    return absl::AlreadyExistsError(
        absl::StrCat(target,
                     ": is there and not empty; a campaign gets a "
                     "folder of its own"));
  }
  RETURN_IF_ERROR(MakeFolder(ParentFolder(target)));
  std::unique_ptr<CampaignFolder> folder(
      new CampaignFolder(target, absl::StrCat(target, ".new.", getpid())));
  RETURN_IF_ERROR(MakeFolder(folder->temporary_));
  return folder;
}

CampaignFolder::~CampaignFolder() {
  std::error_code error;
  if (!committed_) std::filesystem::remove_all(temporary_, error);
}

absl::Status CampaignFolder::Write(const std::string& name,
                                   absl::string_view content) {
  const std::string path = JoinPath(temporary_, name);
  RETURN_IF_ERROR(MakeFolder(ParentFolder(path)));
  return WriteFileAtomically(path, content);
}

absl::Status CampaignFolder::WriteScript(const std::string& name,
                                         absl::string_view content) {
  RETURN_IF_ERROR(Write(name, content));
  const std::string path = JoinPath(temporary_, name);
  return chmod(path.c_str(), 0755) == 0 ? absl::OkStatus()
                                        : FileError(path, "write");
}

absl::Status CampaignFolder::WriteJobs(const PlanSession& session,
                                       const Campaign& campaign) {
  RETURN_IF_ERROR(MakeFolder(JoinPath(temporary_, "tasks")));
  ASSIGN_OR_RETURN(const std::unique_ptr<NewFile> file,
                   NewFile::Create(JoinPath(temporary_, kJobsName)));
  RecordWriter all(file->fd(), file->path(), RecordWriter::Flush::kWhenFull);
  TaskWriter tasks(temporary_);
  RETURN_IF_ERROR(ForEachCampaignJob(
      session, campaign, [&](const CampaignTask& task, const Job& job) {
        RETURN_IF_ERROR(all.Write(job));
        return tasks.Write(task, job);
      }));
  RETURN_IF_ERROR(tasks.Finish());
  RETURN_IF_ERROR(all.Finish());
  return file->Commit();
}

absl::Status CampaignFolder::WriteTasks(const PlanSession& session,
                                        const Campaign& campaign,
                                        const CampaignOptions& options) {
  RETURN_IF_ERROR(session.CheckNoSecrets());
  RETURN_IF_ERROR(WriteJobs(session, campaign));
  std::string list;
  for (const CampaignTask& task : campaign.tasks) {
    const ResolvedConfig& config = session.configs()[task.config];
    RETURN_IF_ERROR(
        Write(TaskFile(task.name, ".env"), TaskSettings(task, config.config)));
    absl::StrAppend(&list, task.name, "\t", task.tool, "\t", task.chunk.jobs,
                    "\t", task.chunk.cost_s, "\n");
  }
  RETURN_IF_ERROR(
      Write("tasks.tsv", absl::StrCat("task\ttool\tjobs\tcost_s\n", list)));
  for (size_t i = 0; i < session.configs().size(); ++i) {
    const ResolvedConfig& config = session.configs()[i];
    RETURN_IF_ERROR(Write(
        absl::StrCat("configs/", i + 1, "_", BaseName(config.loaded.path)),
        PrintTextProto(config.config)));
  }
  ASSIGN_OR_RETURN(const std::string bin, BinFolder(options));
  const CampaignPolicy& policy = session.catalogue().policy().campaign();
  ShellSettings settings;
  settings.Comment("What plan knew; your own settings go into site.env.");
  settings.Set("CAMPAIGN_ID", campaign.id);
  settings.Set("BIN", bin);
  settings.Set("CHECKPOINT_S", absl::StrCat(policy.checkpoint_s()));
  settings.SetList("CONTAINER",
                   absl::StrSplit(options.container, ' ', absl::SkipEmpty()));
  RETURN_IF_ERROR(Write("campaign.env", settings.text()));
  RETURN_IF_ERROR(Write("common.sh", Template("common.sh")));
  for (const char* const name : {"run_task.sh", "check.sh", "again.sh"}) {
    RETURN_IF_ERROR(WriteScript(name, Template(name)));
  }
  return absl::OkStatus();
}

absl::Status CampaignFolder::Commit() {
  if (rename(temporary_.c_str(), path_.c_str()) != 0) {
    return FileError(path_, "make");
  }
  committed_ = true;
  return absl::OkStatus();
}

namespace {

constexpr int64_t kMegabyte = int64_t{1} << 20;

bool Fits(const SlurmArray& array, const CampaignTask& task, int limit) {
  const CampaignTask& other = *array.tasks[0];
  return static_cast<int>(array.tasks.size()) < limit &&
         other.wave == task.wave &&
         other.chunk.needs.gpus == task.chunk.needs.gpus &&
         other.chunk.needs.nodes == task.chunk.needs.nodes;
}

}  // namespace

std::vector<SlurmArray> SlurmArrays(const Campaign& campaign, int limit) {
  std::vector<SlurmArray> arrays;
  int part = 0;
  for (const CampaignTask& task : campaign.tasks) {
    if (arrays.empty() || !Fits(arrays.back(), task, limit)) {
      const bool is_next_part =
          !arrays.empty() && arrays.back().tasks[0]->wave == task.wave &&
          arrays.back().tasks[0]->hardware_class() == task.hardware_class();
      part = is_next_part ? part + 1 : 1;
      arrays.emplace_back();
      // Sorts in the order of the waves, for submit.sh.
      arrays.back().name =
          absl::StrFormat("%s-w%02d-%s-%03d", campaign.id, task.wave,
                          task.hardware_class(), part);
    }
    arrays.back().tasks.push_back(&task);
  }
  return arrays;
}

std::string TaskList(const SlurmArray& array) {
  std::string list;
  for (const CampaignTask* task : array.tasks) {
    absl::StrAppend(&list, task->name, "\n");
  }
  return list;
}

std::string SlurmTime(double seconds) {
  const int64_t all = static_cast<int64_t>(std::ceil(seconds));
  return absl::StrFormat("%d-%02d:%02d:%02d", all / 86400, all / 3600 % 24,
                         all / 60 % 60, all % 60);
}

namespace {

// What each task of an array gets: as much as the largest needs.
struct ArrayNeeds {
  ArrayNeeds(const SlurmArray& array, const CampaignPolicy& policy) {
    double longest_s = 0;
    int64_t memory_bytes = 0;
    for (const CampaignTask* task : array.tasks) {
      Include(task->chunk.needs, &needs);
      memory_bytes = std::max(memory_bytes, task->chunk.needs.memory_bytes());
      longest_s = std::max(longest_s, task->chunk.cost_s);
    }
    memory_mb = (memory_bytes + kMegabyte - 1) / kMegabyte;
    time_s = policy.task_setup_s() + policy.time_margin() * longest_s +
             policy.warning_s();
  }

  Needs needs;
  int64_t memory_mb = 0;
  double time_s = 0;
};

}  // namespace

std::string BatchScript(const SlurmArray& array, const CampaignPolicy& policy) {
  const ArrayNeeds largest(array, policy);
  const Needs& needs = largest.needs;
  return FillTemplate(
      "array.sbatch",
      {{"NAME", array.name},
       {"LAST", absl::StrCat(array.tasks.size() - 1)},
       {"TASKS", absl::StrCat(array.tasks.size())},
       {"NODES", absl::StrCat(needs.nodes)},
       {"NODE_TASKS", absl::StrCat(needs.tasks)},
       // Slurm counts processors per task, and memory and GPUs per node.
       {"CPUS", absl::StrCat((needs.cpus + needs.tasks - 1) / needs.tasks)},
       {"MEMORY_MB", absl::StrCat(largest.memory_mb)},
       {"NEEDS", needs.ToText()},
       {"TIME", SlurmTime(largest.time_s)},
       {"WARNING_S", absl::StrCat(policy.warning_s())},
       {"MAX_RESTARTS", absl::StrCat(policy.max_restarts())},
       {"GPU", needs.gpus > 0 ? absl::StrCat("#SBATCH --gres=gpu:", needs.gpus)
                              : "#"}});
}

namespace {

std::string Summary(const Campaign& campaign, const std::string& folder,
                    const std::string& what_to_do) {
  int64_t jobs = 0;
  double seconds = 0;
  for (const CampaignTask& task : campaign.tasks) {
    jobs += task.chunk.jobs;
    seconds += task.chunk.cost_s;
  }
  return absl::StrCat(folder, ": ", Counted(jobs, "job"), " in ",
                      Counted(campaign.tasks.size(), "task"), ", ",
                      DurationText(seconds), " of work; ", what_to_do, "\n");
}

// The parts that all three share.
absl::StatusOr<std::unique_ptr<CampaignFolder>> StartFolder(
    const PlanSession& session, const CampaignOptions& options,
    const std::string& folder, Campaign* campaign) {
  ASSIGN_OR_RETURN(*campaign, ClusterCampaign(session, options.task_s));
  ASSIGN_OR_RETURN(std::unique_ptr<CampaignFolder> made,
                   CampaignFolder::Create(folder));
  RETURN_IF_ERROR(made->WriteTasks(session, *campaign, options));
  return made;
}

}  // namespace

absl::Status EmitShell(const PlanSession& session,
                       const CampaignOptions& options,
                       const std::string& folder, std::string* summary) {
  Campaign campaign;
  ASSIGN_OR_RETURN(const std::unique_ptr<CampaignFolder> made,
                   StartFolder(session, options, folder, &campaign));
  RETURN_IF_ERROR(made->WriteScript("run.sh", Template("run.sh")));
  *summary = Summary(campaign, folder, "start it with its run.sh");
  return made->Commit();
}

absl::Status EmitMake(const PlanSession& session,
                      const CampaignOptions& options, const std::string& folder,
                      std::string* summary) {
  Campaign campaign;
  ASSIGN_OR_RETURN(const std::unique_ptr<CampaignFolder> made,
                   StartFolder(session, options, folder, &campaign));
  RETURN_IF_ERROR(made->Write("Makefile", Template("make.mk")));
  *summary = Summary(campaign, folder, "start it there with make");
  return made->Commit();
}

absl::Status EmitSlurm(const PlanSession& session,
                       const CampaignOptions& options,
                       const std::string& folder, std::string* summary) {
  Campaign campaign;
  ASSIGN_OR_RETURN(const std::unique_ptr<CampaignFolder> made,
                   StartFolder(session, options, folder, &campaign));
  const CampaignPolicy& policy = session.catalogue().policy().campaign();
  const std::vector<SlurmArray> arrays =
      SlurmArrays(campaign, options.array_limit > 0 ? options.array_limit
                                                    : policy.array_limit());
  for (const SlurmArray& array : arrays) {
    const std::string path = absl::StrCat("arrays/", array.name);
    RETURN_IF_ERROR(made->Write(path + ".tasks", TaskList(array)));
    RETURN_IF_ERROR(made->Write(path + ".sbatch", BatchScript(array, policy)));
  }
  for (const char* const name : {"submit.sh", "collect.sh"}) {
    RETURN_IF_ERROR(made->WriteScript(name, Template(name)));
  }
  RETURN_IF_ERROR(made->Write("Makefile", Template("slurm.mk")));
  *summary = Summary(campaign, folder,
                     absl::StrCat(arrays.size(),
                                  " arrays; submit them there with make submit,"
                                  " then make collect"));
  return made->Commit();
}

namespace {

absl::Status CheckKubernetes(const KubernetesOptions& kubernetes,
                             const Campaign& campaign) {
  if (kubernetes.image.empty() || kubernetes.claim.empty()) {
    return absl::InvalidArgumentError(
        "--emit=kubernetes needs --image=IMAGE, which has the bundle, and "
        "--claim=NAME/FOLDER: the claim of the volume with the campaign's "
        "folder, and the folder's path there");
  }
  const std::vector<absl::string_view> parts =
      absl::StrSplit(kubernetes.claim, '/');
  for (const absl::string_view part : parts) {
    if (!part.empty() && part != "." && part != "..") continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--claim=", kubernetes.claim,
                     ": needs the name of a claim and a folder on its volume, "
                     "such as campaigns/rgb"));
  }
  for (const CampaignTask& task : campaign.tasks) {
    if (task.chunk.needs.nodes == 1) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("task ", task.name, " needs ", task.chunk.needs.ToText(),
                     "; several nodes work together only with --emit=slurm"));
  }
  return absl::OkStatus();
}

// As YAML takes any text: JSON is YAML.
std::string YamlString(absl::string_view text) {
  std::string quoted;
  AppendJsonString(text, &quoted);
  return quoted;
}

std::string KubernetesJob(const SlurmArray& array, const Campaign& campaign,
                          const CampaignPolicy& policy,
                          const KubernetesOptions& kubernetes) {
  const ArrayNeeds largest(array, policy);
  const Needs& needs = largest.needs;
  const std::string gpus =
      needs.gpus > 0
          ? absl::StrCat("              nvidia.com/gpu: \"", needs.gpus, "\"\n")
          : "";
  const std::pair<absl::string_view, absl::string_view> claim =
      absl::StrSplit(kubernetes.claim, absl::MaxSplits('/', 1));
  const std::string sub_path =
      claim.second.empty()
          ? ""
          : absl::StrCat("              subPath: ", YamlString(claim.second),
                         "\n");
  std::string text = FillTemplate(
      "kubernetes_job.yaml",
      {{"NAME", array.name},
       {"CAMPAIGN", campaign.id},
       {"TASKS", absl::StrCat(array.tasks.size())},
       {"NEEDS", needs.ToText()},
       {"MAX_RESTARTS", absl::StrCat(policy.max_restarts())},
       {"TIME_S", absl::StrCat(static_cast<int64_t>(largest.time_s) + 1)},
       {"WARNING_S", absl::StrCat(policy.warning_s())},
       {"IMAGE", YamlString(kubernetes.image)},
       {"IMAGE_BIN", YamlString(kubernetes.image_bin)},
       {"MOUNT", YamlString(kubernetes.mount)},
       {"LOCAL", YamlString(kubernetes.local)},
       {"LOCAL_FOLDER", YamlString(JoinPath(kubernetes.local, "task"))},
       {"CLAIM", YamlString(claim.first)},
       {"CPUS", absl::StrCat(needs.cpus)},
       {"MEMORY_MB", absl::StrCat(largest.memory_mb)}});
  absl::StrReplaceAll({{"@GPU_REQUEST@\n", gpus},
                       {"@GPU_LIMIT@\n", gpus},
                       {"@SUB_PATH@\n", sub_path}},
                      &text);
  return text;
}

}  // namespace

absl::Status EmitKubernetes(const PlanSession& session,
                            const CampaignOptions& options,
                            const KubernetesOptions& kubernetes,
                            const std::string& folder, std::string* summary) {
  Campaign campaign;
  ASSIGN_OR_RETURN(const std::unique_ptr<CampaignFolder> made,
                   StartFolder(session, options, folder, &campaign));
  RETURN_IF_ERROR(CheckKubernetes(kubernetes, campaign));
  const CampaignPolicy& policy = session.catalogue().policy().campaign();
  const std::vector<SlurmArray> arrays =
      SlurmArrays(campaign, options.array_limit > 0 ? options.array_limit
                                                    : policy.array_limit());
  for (const SlurmArray& array : arrays) {
    RETURN_IF_ERROR(made->Write(absl::StrCat("arrays/", array.name, ".tasks"),
                                TaskList(array)));
    RETURN_IF_ERROR(
        made->Write(absl::StrCat("jobs/", array.name, ".yaml"),
                    KubernetesJob(array, campaign, policy, kubernetes)));
  }
  RETURN_IF_ERROR(made->Write("Makefile", Template("kubernetes.mk")));
  *summary = Summary(campaign, folder,
                     absl::StrCat(arrays.size(),
                                  " jobs; put the folder on the volume of the "
                                  "claim, then make submit and make collect"));
  return made->Commit();
}

}  // namespace feedrate
