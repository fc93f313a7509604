#include "lib/analysis/row_settings.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

constexpr char kSeparator = '\x1f';

constexpr const char* kNames[RowSettings::kFields] = {
    "machine_profile", "library_version", "env_set",       "hardware",
    "dataset.sha256",  "dataset.files",   "dataset.bytes", "labels",
};

// Labels that put a row into another table.
std::string TableLabels(const Row& row) {
  std::string text;
  for (const char* label : {"cold", "exploratory", "memory_limited"}) {
    for (const std::string& has : row.labels()) {
      if (has == label) absl::StrAppend(&text, text.empty() ? "" : "+", label);
    }
  }
  // A row that ran and has none of them says so; one that did not says nothing.
  return text.empty() && row.status() == "ok" ? "none" : text;
}

std::string NumberOrNothing(int64_t number) {
  return number == 0 ? "" : absl::StrCat(number);
}

}  // namespace

uint32_t RowSettings::Id(const Row& row) {
  key_ =
      absl::StrJoin({row.machine_profile(), row.library_version(),
                     row.env_set(), row.hardware(), row.dataset().sha256(),
                     NumberOrNothing(row.dataset().files()),
                     NumberOrNothing(row.dataset().bytes()), TableLabels(row)},
                    std::string(1, kSeparator));
  const auto known = ids_.find(key_);
  if (known != ids_.end()) return known->second;
  const std::vector<std::string> parts = absl::StrSplit(key_, kSeparator);
  Values values;
  for (int i = 0; i < kFields && i < parts.size(); ++i) values[i] = parts[i];
  values_.push_back(values);
  const uint32_t id = static_cast<uint32_t>(values_.size() - 1);
  ids_.emplace(key_, id);
  return id;
}

std::string RowSettings::Differences(const std::vector<uint32_t>& ids) const {
  const std::set<uint32_t> different(ids.begin(), ids.end());
  if (different.size() < 2) return "";
  std::string text;
  for (int field = 0; field < kFields; ++field) {
    std::set<std::string> found;
    for (const uint32_t id : different) {
      if (!values_[id][field].empty()) found.insert(values_[id][field]);
    }
    if (found.size() < 2) continue;
    absl::StrAppend(&text, text.empty() ? "" : ", ", kNames[field], " (",
                    absl::StrJoin(found, ", "), ")");
  }
  return text;
}

}  // namespace feedrate
