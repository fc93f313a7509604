#include "lib/planning/emit/campaign_folder.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/unique_fd.h"
#include "lib/config/policy.pb.h"
#include "lib/config/run_config.pb.h"
#include "lib/config/text_proto.h"
#include "lib/planning/emit/campaign.h"
#include "lib/planning/emit/shell_quote.h"
#include "lib/planning/emit/templates.h"
#include "lib/planning/plan_session.h"
#include "lib/records/job_identity.h"
#include "lib/records/record_io.h"
#include "lib/records/records.pb.h"

namespace feedrate {
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

std::string TaskSettings(const CampaignTask& task, const RunConfig& config) {
  const Data& data = config.data();
  ShellSettings settings;
  settings.Set("TOOL", task.tool);
  // Synthetic images are made from the job's own words.
  const bool is_path = data.dataset().find("synthetic:") != 0;
  settings.Set("DATASET", is_path ? data.dataset() : "");
  settings.Set("DATASET_ID", data.id());
  settings.Set("ARCHIVE", data.archive());
  settings.Set("ARCHIVE_BYTES", data.has_archive_bytes()
                                    ? absl::StrCat(data.archive_bytes())
                                    : "");
  return settings.text();
}

absl::StatusOr<std::string> BinFolder(const CampaignOptions& options) {
  if (!options.bin.empty()) return options.bin;
  ASSIGN_OR_RETURN(const std::string program, ProgramPath());
  return ParentFolder(program);
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

}  // namespace feedrate
