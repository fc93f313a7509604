#include "lib/gate/baseline_store.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/records/json_reader.h"

namespace feedrate {
namespace {

constexpr const char* kKinds[] = {"metrics.json", "eval.json", "rows.jsonl"};
// Percent; far above anything that a gate is asked about.
constexpr double kNothingSeen = 1000;

absl::Status BrokenAt(const std::string& name, size_t line,
                      absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(
      name, ":", line, ": ", what,
      "; it is torn or was changed by hand, so restore or update it"));
}

// Calls `use` for each record; everything else is an error.
template <typename Use>
absl::Status ForEachRecord(const std::string& text, const std::string& name,
                           const Use& use) {
  if (!text.empty() && text.back() != '\n') {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": ends in the middle of a line; it is torn"));
  }
  JsonReader reader;
  size_t number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    if (line.empty()) continue;
    const absl::StatusOr<std::string> record = reader.Open(line);
    if (!record.ok()) {
      return BrokenAt(name, number, record.status().message());
    }
    const absl::Status used = use(*record, &reader);
    if (!used.ok()) return BrokenAt(name, number, used.message());
  }
  return absl::OkStatus();
}

absl::Status WrongProfile(const std::string& path, const std::string& inside,
                          const std::string& profile) {
  return absl::InvalidArgumentError(absl::StrCat(
      path, ": is of machine \"", inside, "\", but its name says \"", profile,
      "\"; baselines of other machines are not used"));
}

}  // namespace

absl::StatusOr<std::vector<Row>> ParseRowsStrictly(const std::string& text,
                                                   const std::string& name) {
  std::vector<Row> rows;
  RETURN_IF_ERROR(ForEachRecord(
      text, name,
      [&rows](const std::string& record, JsonReader* reader) -> absl::Status {
        if (record != "row") return absl::OkStatus();
        Row row;
        RETURN_IF_ERROR(reader->Read(&row));
        if (row.job_id().empty()) {
          return absl::InvalidArgumentError("a row has no job_id");
        }
        rows.push_back(std::move(row));
        return absl::OkStatus();
      }));
  return rows;
}

RowsByJob LastAttempts(const std::vector<Row>& rows) {
  std::map<std::pair<std::string, int>, const Row*> last;
  for (const Row& row : rows) {
    const Row*& kept = last[{row.job_id(), row.run_index()}];
    if (kept == nullptr || row.attempt() >= kept->attempt()) kept = &row;
  }
  RowsByJob by_job;
  for (const auto& entry : last) {
    by_job[entry.first.first].push_back(*entry.second);
  }
  return by_job;
}

std::string BaselineStore::PathOf(const std::string& profile,
                                  const std::string& kind) const {
  return JoinPath(folder_, absl::StrCat(profile, ".", kind));
}

absl::StatusOr<std::vector<std::string>> BaselineStore::Profiles() const {
  ASSIGN_OR_RETURN(const std::vector<std::string> paths,
                   ListFiles(folder_, "", false));
  std::set<std::string> profiles;
  for (const std::string& path : paths) {
    absl::string_view name = path;
    name.remove_prefix(path.size() - BaseName(path).size());
    for (const char* kind : kKinds) {
      if (absl::ConsumeSuffix(&name, absl::StrCat(".", kind))) {
        profiles.insert(std::string(name));
        break;
      }
    }
  }
  return std::vector<std::string>(profiles.begin(), profiles.end());
}

absl::StatusOr<absl::optional<MetricsFile>> BaselineStore::ReadFlat(
    const std::string& profile, const std::string& kind) const {
  const std::string path = PathOf(profile, kind);
  if (!IsFile(path)) return absl::optional<MetricsFile>();
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  ASSIGN_OR_RETURN(MetricsFile file, ParseMetrics(text, path));
  if (file.machine_profile != profile) {
    return WrongProfile(path, file.machine_profile, profile);
  }
  return absl::optional<MetricsFile>(std::move(file));
}

absl::StatusOr<absl::optional<MetricsFile>> BaselineStore::ReadMetrics(
    const std::string& profile) const {
  return ReadFlat(profile, "metrics.json");
}

absl::StatusOr<absl::optional<MetricsFile>> BaselineStore::ReadEval(
    const std::string& profile) const {
  return ReadFlat(profile, "eval.json");
}

absl::StatusOr<absl::optional<RowsByJob>> BaselineStore::ReadRows(
    const std::string& profile) const {
  const std::string path = PathOf(profile, "rows.jsonl");
  if (!IsFile(path)) return absl::optional<RowsByJob>();
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  ASSIGN_OR_RETURN(const std::vector<Row> rows, ParseRowsStrictly(text, path));
  if (rows.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": has no row"));
  }
  for (const Row& row : rows) {
    if (row.machine_profile() != profile) {
      return WrongProfile(path, row.machine_profile(), profile);
    }
  }
  return absl::optional<RowsByJob>(LastAttempts(rows));
}

absl::StatusOr<std::vector<Calibration>> BaselineStore::ReadCalibrations(
    const std::string& profile) const {
  std::vector<Calibration> calibrations;
  const std::string path = PathOf(profile, "calibration.jsonl");
  if (!IsFile(path)) return calibrations;
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  RETURN_IF_ERROR(ForEachRecord(
      text, path,
      [&](const std::string& record, JsonReader* reader) -> absl::Status {
        if (record != "calibration") return absl::OkStatus();
        Calibration calibration;
        RETURN_IF_ERROR(reader->Read(&calibration));
        if (calibration.machine_profile() != profile) {
          return absl::InvalidArgumentError("a calibration of another machine");
        }
        calibrations.push_back(std::move(calibration));
        return absl::OkStatus();
      }));
  return calibrations;
}

std::map<std::string, double> FloorsOf(
    const std::vector<Calibration>& calibrations) {
  std::map<std::string, double> floors;
  for (const Calibration& calibration : calibrations) {
    floors[calibration.job_id()] = calibration.has_floor_percent()
                                       ? calibration.floor_percent()
                                       : kNothingSeen;
  }
  return floors;
}

}  // namespace feedrate
