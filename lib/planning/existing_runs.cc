#include "lib/planning/existing_runs.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/records/record_io.h"
#include "lib/records/records.pb.h"

namespace feedrate {

bool AnswersForAllRuns(const std::string& status) {
  return status == "early_stopped" || status == "unsupported";
}

bool IsDone(const std::string& status) {
  return status == "ok" || AnswersForAllRuns(status);
}

absl::Status ExistingRuns::Read(const std::vector<std::string>& paths,
                                const Complain& complain) {
  Row row;
  RecordReader reader(
      [&](absl::string_view record, JsonReader& json) -> absl::Status {
        if (record != "row") return absl::OkStatus();
        RETURN_IF_ERROR(json.Read(&row));
        Add(row);
        return absl::OkStatus();
      },
      complain);
  for (const std::string& path : paths) {
    if (!IsFolder(path)) {
      RETURN_IF_ERROR(reader.ReadFile(path));
      continue;
    }
    ASSIGN_OR_RETURN(const std::vector<std::string> files,
                     ListFiles(path, ".jsonl", /*recursive=*/true));
    for (const std::string& file : files) {
      RETURN_IF_ERROR(reader.ReadFile(file));
    }
  }
  return absl::OkStatus();
}

void ExistingRuns::Add(const Row& row) {
  if (!machine_profile_.empty() && row.machine_profile() != machine_profile_) {
    return;
  }
  ++rows_;
  Attempt& attempt = jobs_[row.job_id()][row.run_index()];
  if (row.attempt() < attempt.number) return;
  attempt = {row.attempt(), IsDone(row.status()),
             AnswersForAllRuns(row.status())};
}

bool ExistingRuns::Done(const std::string& job_id, int32_t run_index) const {
  const auto job = jobs_.find(job_id);
  if (job == jobs_.end()) return false;
  const auto run = job->second.find(run_index);
  if (run != job->second.end()) return run->second.done;
  return std::any_of(
      job->second.begin(), job->second.end(),
      [](const auto& other) { return other.second.answers_for_all; });
}

}  // namespace feedrate
