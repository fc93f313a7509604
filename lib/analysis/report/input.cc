#include "lib/analysis/report/input.h"

#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/records/record_reader.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

// What makes two rows attempts at the same run. A duel runs its job twice in
// each pair.
using RunKey = std::tuple<std::string, std::string, std::string, std::string,
                          int, int, std::string>;

RunKey KeyOf(const Row& row) {
  return RunKey(row.job_id(), row.machine_profile(), row.library_version(),
                row.dataset().sha256(), row.run_index(),
                row.has_pair() ? row.pair().index() : -1, row.pair().side());
}

class Collector {
 public:
  explicit Collector(ReportInput* input) : input_(*input) {}

  absl::Status Take(absl::string_view record, JsonReader& json) {
    if (record == "row") {
      Row row;
      RETURN_IF_ERROR(json.Read(&row));
      TakeRow(std::move(row));
    } else if (record == "env") {
      Env env;
      RETURN_IF_ERROR(json.Read(&env));
      envs_.emplace(env.env_id(), std::move(env));
    } else if (record == "run") {
      Run run;
      RETURN_IF_ERROR(json.Read(&run));
      runs_.emplace(run.run_id(), std::move(run));
    } else if (record != "job") {
      ++input_.passed_over[std::string(record)];
    }
    return absl::OkStatus();
  }

  void Finish() {
    for (auto& entry : rows_) input_.rows.push_back(std::move(entry.second));
    for (auto& entry : envs_) input_.envs.push_back(std::move(entry.second));
    for (auto& entry : runs_) input_.runs.push_back(std::move(entry.second));
  }

 private:
  void TakeRow(Row row) {
    // Raw timings are the bulk of a file, and their quantiles are in the row.
    row.clear_samples_s();
    const RunKey key = KeyOf(row);
    const auto place = rows_.find(key);
    if (place == rows_.end()) {
      rows_.emplace(key, std::move(row));
      return;
    }
    ++input_.replaced_rows;
    const Row& old = place->second;
    // The later of two equal attempts, so that the order of files is nothing.
    if (std::make_tuple(row.attempt(), row.started_at(), row.run_id()) >=
        std::make_tuple(old.attempt(), old.started_at(), old.run_id())) {
      place->second = std::move(row);
    }
  }

  ReportInput& input_;
  std::map<RunKey, Row> rows_;
  std::map<std::string, Env> envs_;
  std::map<std::string, Run> runs_;
};

}  // namespace

absl::StatusOr<ReportInput> ReadReportInput(
    const std::vector<std::string>& paths,
    const std::function<void(const std::string&)>& complain) {
  ReportInput input;
  Collector collector(&input);
  RecordReader reader(
      [&](absl::string_view record, JsonReader& json) {
        return collector.Take(record, json);
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
  collector.Finish();
  input.broken_lines = reader.broken_lines();
  input.torn_lines = reader.torn_lines();
  return input;
}

}  // namespace feedrate
