#include "lib/analysis/report/report_input.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "lib/analysis/rows/row_files.h"
#include "lib/base/status_macros.h"
#include "lib/records/attempts.h"
#include "lib/records/record_io.h"

namespace feedrate {
namespace {

// Far above any batch, and small enough to add up those of any file.
constexpr int64_t kMaxSamples = int64_t{1} << 31;

absl::Status CheckBatch(const Batch& batch) {
  for (const BatchCount& count : batch.counts()) {
    if (count.samples() >= 0 && count.samples() <= kMaxSamples) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("field \"counts.samples\": ", count.samples(),
                     " is no number of samples of a batch"));
  }
  return absl::OkStatus();
}

class Collector {
 public:
  explicit Collector(ReportInput* input) : input_(*input) {}

  absl::Status Take(absl::string_view record, JsonReader& json) {
    if (record == "row") {
      Row row;
      RETURN_IF_ERROR(json.Read(&row));
      if (row.status() == "ok" && !(row.throughput() > 0)) {
        return absl::InvalidArgumentError(
            "field \"throughput\" is no number above 0, but the status is ok");
      }
      TakeRow(std::move(row));
    } else if (record == "env") {
      Env env;
      RETURN_IF_ERROR(json.Read(&env));
      envs_.emplace(env.env_id(), std::move(env));
    } else if (record == "run") {
      Run run;
      RETURN_IF_ERROR(json.Read(&run));
      runs_.emplace(run.run_id(), std::move(run));
    } else if (record == "verdict") {
      Verdict verdict;
      RETURN_IF_ERROR(json.Read(&verdict));
      input_.verdicts.push_back(std::move(verdict));
    } else if (record == "profile") {
      RETURN_IF_ERROR(json.Read(&input_.profiles.emplace_back()));
    } else if (record == "batch") {
      Batch batch;
      RETURN_IF_ERROR(json.Read(&batch));
      RETURN_IF_ERROR(CheckBatch(batch));
      input_.batches.push_back(std::move(batch));
    } else if (record != "job" && record != "duel" && record != "control") {
      ++input_.passed_over[std::string(record)];
    }
    return absl::OkStatus();
  }

  void Finish() {
    for (auto& [identity, rows] : rows_) {
      if (!identity.empty() && rows.size() > 1) DropReplaced(&rows);
      // Sorts by content, so that the order of files does not matter.
      std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
        return a.ShortDebugString() < b.ShortDebugString();
      });
      for (Row& row : rows) input_.rows.push_back(std::move(row));
    }
    for (auto& entry : envs_) input_.envs.push_back(std::move(entry.second));
    for (auto& entry : runs_) input_.runs.push_back(std::move(entry.second));
  }

 private:
  void TakeRow(Row row) {
    // Raw timings take most of a file, and their quantiles are in the row.
    row.clear_samples_s();
    rows_[RunIdentity(row)].push_back(std::move(row));
  }

  void DropReplaced(std::vector<Row>* rows) {
    std::vector<Attempt> attempts;
    for (size_t i = 0; i < rows->size(); ++i) {
      attempts.push_back(AttemptOf((*rows)[i], i));
    }
    std::set<size_t> replaced;
    ForEachReplaced(absl::MakeSpan(attempts),
                    [&](size_t id, bool) { replaced.insert(id); });
    std::vector<Row> kept;
    for (size_t i = 0; i < rows->size(); ++i) {
      if (replaced.count(i) == 0) kept.push_back(std::move((*rows)[i]));
    }
    input_.replaced_rows += static_cast<int64_t>(replaced.size());
    *rows = std::move(kept);
  }

  ReportInput& input_;
  // All attempts, which are few, keyed by run identity.
  std::map<std::string, std::vector<Row>> rows_;
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
  ASSIGN_OR_RETURN(const std::vector<std::string> files,
                   ExpandPaths(paths, {".jsonl"}));
  for (const std::string& file : files) {
    RETURN_IF_ERROR(reader.ReadFile(file));
  }
  collector.Finish();
  input.broken_lines = reader.broken_lines();
  input.refused_records = reader.refused_records();
  input.torn_lines = reader.torn_lines();
  return input;
}

}  // namespace feedrate
