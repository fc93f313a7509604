#include "lib/records/job_id.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/hash/sha256.h"
#include "lib/records/json_writer.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

constexpr size_t kIdDigits = 16;

// Builds one object. REQUIRES: keys come in sorted order.
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

}  // namespace feedrate
