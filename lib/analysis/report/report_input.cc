#include "lib/analysis/report/report_input.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
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
                     " is not a number of samples of a batch"));
  }
  return absl::OkStatus();
}

class Collector {
 public:
  explicit Collector(ReportInput* input) : input_(*input) {}

  absl::Status Take(absl::string_view record, JsonReader& json) {
    if (record == "row") {
      const absl::Status status = TakeRow(json, &rows_.emplace_back());
      if (!status.ok()) rows_.pop_back();
      return status;
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
    input_.rows.reserve(rows_.size());
    const std::vector<Place> places = SortedPlaces();
    for (size_t begin = 0, end; begin < places.size(); begin = end) {
      const std::string& identity = identities_[places[begin].row];
      std::vector<Row> same;
      for (end = begin;
           end < places.size() && identities_[places[end].row] == identity;
           ++end) {
        same.push_back(std::move(rows_[places[end].row]));
      }
      if (!identity.empty() && same.size() > 1) DropReplaced(&same);
      // Sorts by content, so that the order of files does not matter.
      if (same.size() > 1) {
        std::sort(same.begin(), same.end(), [](const Row& a, const Row& b) {
          return a.ShortDebugString() < b.ShortDebugString();
        });
      }
      for (Row& row : same) input_.rows.push_back(std::move(row));
    }
    for (auto& entry : envs_) input_.envs.push_back(std::move(entry.second));
    for (auto& entry : runs_) input_.runs.push_back(std::move(entry.second));
  }

 private:
  absl::Status TakeRow(JsonReader& json, Row* row) {
    RETURN_IF_ERROR(json.Read(row));
    if (row->status() == "ok" && !(row->throughput() > 0)) {
      return absl::InvalidArgumentError(
          "field \"throughput\" is not a number above 0, but the status is ok");
    }
    // Raw timings take most of a file, and their quantiles are in the row.
    row->clear_samples_s();
    identities_.push_back(RunIdentity(*row));
    return absl::OkStatus();
  }

  struct Place {
    // How the identity begins, which decides most comparisons.
    std::array<char, 32> begin;
    size_t row;
  };

  // The places of all rows, sorted by identity.
  std::vector<Place> SortedPlaces() const {
    std::vector<Place> places(rows_.size());
    for (size_t i = 0; i < places.size(); ++i) {
      Place& place = places[i];
      place.row = i;
      const std::string& identity = identities_[i];
      place.begin = {};
      identity.copy(place.begin.data(), place.begin.size());
    }
    std::sort(places.begin(), places.end(),
              [this](const Place& a, const Place& b) {
                const int order =
                    std::memcmp(a.begin.data(), b.begin.data(), a.begin.size());
                return order != 0 ? order < 0
                                  : identities_[a.row] < identities_[b.row];
              });
    return places;
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
  // All attempts, and the run that each was at.
  std::deque<Row> rows_;
  std::vector<std::string> identities_;
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
