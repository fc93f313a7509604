#include "lib/records/job_identity.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/files.h"
#include "lib/hash/sha256.h"
#include "lib/records/json.h"

namespace feedrate {
namespace {

constexpr size_t kIdDigits = 16;

// Builds one JSON object. REQUIRES: keys are added in sorted order.
class CanonicalObject {
 public:
  void Add(absl::string_view key, const std::string& text) {
    if (text.empty()) return;
    Key(key);
    AppendJsonString(text, &json_);
  }
  void Add(absl::string_view key, int64_t number) {
    if (number == 0) return;
    Key(key);
    absl::StrAppend(&json_, number);
  }
  void AddObject(absl::string_view key, const std::string& object) {
    if (object == "{}") return;
    Key(key);
    json_ += object;
  }
  std::string Finish() && {
    json_ += '}';
    return std::move(json_);
  }

 private:
  void Key(absl::string_view key) {
    absl::StrAppend(&json_, json_.size() > 1 ? "," : "", "\"", key, "\":");
  }
  std::string json_ = "{";
};

std::string CanonicalSettings(const Job& job) {
  std::vector<std::pair<std::string, std::string>> sorted(
      job.settings().begin(), job.settings().end());
  std::sort(sorted.begin(), sorted.end());
  std::string json = "{";
  for (const auto& [key, value] : sorted) {
    if (json.size() > 1) json += ',';
    AppendJsonString(key, &json);
    json += ':';
    AppendJsonString(value, &json);
  }
  return json + "}";
}

}  // namespace

std::string CanonicalIdentity(const Job& job) {
  CanonicalObject json;
  json.Add("batch_size", job.batch_size());
  json.Add("dataset", job.dataset());
  json.Add("device", job.device());
  json.Add("library", job.library());
  json.Add("mode", job.mode());
  json.Add("num_items", job.num_items());
  json.Add("params_profile", job.params_profile());
  json.Add("params_sha256", job.params_sha256());
  json.Add("scenario", job.scenario());
  json.Add("scope", job.scope());
  json.Add("seed", job.seed());
  if (!job.settings().empty()) {
    json.AddObject("settings", CanonicalSettings(job));
  }
  json.Add("thread_policy", job.thread_policy());
  json.Add("transform", job.transform());
  json.Add("workers", job.workers());
  return std::move(json).Finish();
}

std::string JobId(const Job& job) {
  return Sha256Hex(CanonicalIdentity(job)).substr(0, kIdDigits);
}

namespace {

// Copies the fields that have the same name and type in both messages.
template <typename From, typename To>
void CopyCommon(const From& from, To* to) {
  to->set_job_id(from.job_id());
  to->set_scenario(from.scenario());
  to->set_mode(from.mode());
  to->set_scope(from.scope());
  to->set_library(from.library());
  to->set_transform(from.transform());
  to->set_device(from.device());
  to->set_num_items(from.num_items());
  to->set_batch_size(from.batch_size());
  to->set_workers(from.workers());
  to->set_thread_policy(from.thread_policy());
  to->set_params_profile(from.params_profile());
  to->set_seed(from.seed());
  *to->mutable_settings() = from.settings();
  to->set_params_sha256(from.params_sha256());
  to->set_env_group(from.env_group());
  to->set_env_set(from.env_set());
  to->set_hardware_class(from.hardware_class());
  if (from.has_label()) to->set_label(from.label());
  if (from.has_note()) to->set_note(from.note());
}

bool IsEarned(const std::string& label) {
  return label == "memory_limited" || label == "cold";
}

}  // namespace

Row RowOfJob(const Job& job) {
  Row row;
  CopyCommon(job, &row);
  row.mutable_dataset()->set_id(job.dataset());
  *row.mutable_labels() = job.labels();
  return row;
}

Job JobOfRow(const Row& row) {
  Job job;
  CopyCommon(row, &job);
  job.set_dataset(row.dataset().id());
  for (const std::string& label : row.labels()) {
    if (!IsEarned(label)) job.add_labels(label);
  }
  return job;
}

std::string ResultFileName(const Job& job, int num_runs) {
  std::string name =
      absl::StrCat(FileNameOf(job.scenario()), "/", FileNameOf(job.mode()), "/",
                   FileNameOf(job.library()), "_");
  if (job.mode() == "micro" || job.mode() == "decode") {
    name += job.mode();
  } else {
    absl::StrAppend(&name, job.scope().empty() ? "" : FileNameOf(job.scope()),
                    "_n");
    job.num_items() == 0 ? absl::StrAppend(&name, "all")
                         : absl::StrAppend(&name, job.num_items());
    absl::StrAppend(&name, "_r", num_runs, "_w", job.workers(), "_b",
                    job.batch_size());
  }
  if (job.device() != "cpu") {
    absl::StrAppend(&name, "_dev-", FileNameOf(job.device()));
  }
  return name + "_results.jsonl";
}

}  // namespace feedrate
