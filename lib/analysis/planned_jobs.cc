#include "lib/analysis/planned_jobs.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/analysis/fingerprint.h"
#include "lib/records/records.pb.h"

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
  // The order of a hashed map is no one's; a sum does not depend on it.
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

std::string Subject(const Job& job) {
  std::string text = absl::StrCat(job.scenario(), " ", job.mode(), " ",
                                  job.scope(), " ", job.device(), " ");
  absl::StrAppend(&text, job.library(), job.transform().empty() ? "" : " ",
                  job.transform());
  if (job.batch_size() > 0) absl::StrAppend(&text, " b", job.batch_size());
  const std::string settings = SettingsText(job.settings());
  if (!settings.empty()) absl::StrAppend(&text, " ", settings);
  return text;
}

void PlannedJobs::Add(const Job& job) {
  const auto [entry, is_new] = by_id_.try_emplace(job.job_id(), size());
  if (is_new) {
    Job bare = job;
    bare.clear_run_indexes();
    jobs_.push_back({bare.SerializeAsString(), {}, IdentityOf(job)});
    by_cell_.try_emplace(CellOf(job).value(), size() - 1);
    by_batch_.try_emplace(CellOf(job).Number(job.batch_size()).value(),
                          size() - 1);
  } else if (job.hardware_class() == "cpu") {
    // The class with the wider choice: see HardwareProblem.
    Job known;
    std::string& wire = jobs_[entry->second].wire;
    known.ParseFromString(wire);
    known.set_hardware_class("cpu");
    wire = known.SerializeAsString();
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

int PlannedJobs::Find(absl::string_view job_id) const {
  const auto found = by_id_.find(job_id);
  return found == by_id_.end() ? -1 : found->second;
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
  // A row without the job's fields claims nothing but its id.
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

}  // namespace feedrate
