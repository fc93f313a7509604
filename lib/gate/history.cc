#include "lib/gate/history.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/draw/text.h"
#include "lib/gate/paired_rows.h"
#include "lib/records/attempts.h"
#include "lib/records/record_io.h"
#include "lib/stats/quantiles.h"

namespace feedrate {
namespace {

class HistoryReader {
 public:
  explicit HistoryReader(std::vector<HistoryEntry>* entries)
      : entries_(entries) {}

  void StartFile(const std::string& path) {
    file_ = path;
    is_open_ = false;
  }

  absl::Status Handle(absl::string_view record, JsonReader& reader) {
    if (record == "env") {
      Env env;
      RETURN_IF_ERROR(reader.Read(&env));
      Open(env.git().revision().empty() ? BaseName(file_)
                                        : env.git().revision());
    } else if (record == "row") {
      Row row;
      RETURN_IF_ERROR(reader.Read(&row));
      if (!is_open_) Open(BaseName(file_));
      HistoryEntry& entry = entries_->back();
      if (entry.machine_profile.empty()) {
        entry.machine_profile = row.machine_profile();
      }
      const std::string& started = row.started_at();
      if (!started.empty() &&
          (entry.started_at.empty() || started < entry.started_at)) {
        entry.started_at = started;
      }
      entry.rows.push_back(std::move(row));
    }
    return absl::OkStatus();
  }

 private:
  void Open(const std::string& revision) {
    entries_->emplace_back();
    entries_->back().revision = revision;
    is_open_ = true;
  }

  std::vector<HistoryEntry>* const entries_;
  std::string file_;
  bool is_open_ = false;
};

std::vector<HistorySeries> SeriesOf(const std::vector<HistoryEntry>& entries,
                                    RunStatistic statistic) {
  std::vector<HistorySeries> series;
  std::map<std::pair<std::string, std::string>, size_t> index;
  for (const HistoryEntry& entry : entries) {
    // The rank of the cleanest attempt at each run.
    std::map<std::tuple<std::string, std::string, int>, int> cleanest;
    const auto rank_of = [&cleanest](const Row& row) -> int& {
      const auto run =
          std::make_tuple(row.job_id(), row.machine_profile(), row.run_index());
      return cleanest.emplace(run, AttemptRank(row)).first->second;
    };
    for (const Row& row : entry.rows) {
      rank_of(row) = std::min(rank_of(row), AttemptRank(row));
    }
    // Each job once, in the order of rows.
    std::vector<std::pair<const Row*, std::vector<double>>> jobs;
    std::map<std::pair<std::string, std::string>, size_t> here;
    for (const Row& row : entry.rows) {
      const absl::optional<double> log = RunLog(row, statistic);
      if (!log || AttemptRank(row) > rank_of(row)) continue;
      const auto key = std::make_pair(row.job_id(), row.machine_profile());
      const auto added = here.emplace(key, jobs.size());
      if (added.second) jobs.push_back({&row, {}});
      jobs[added.first->second].second.push_back(*log);
    }
    for (auto& job : jobs) {
      const Row& row = *job.first;
      const auto key = std::make_pair(row.job_id(), row.machine_profile());
      const auto added = index.emplace(key, series.size());
      if (added.second) {
        series.emplace_back();
        series.back().job_id = row.job_id();
        series.back().label = JobLabel(row);
        series.back().machine_profile = row.machine_profile();
      }
      HistorySeries& one = series[added.first->second];
      one.revisions.push_back(entry.revision);
      one.logs.push_back(TrimmedMean(absl::MakeSpan(job.second)));
      one.started_at.push_back(entry.started_at);
    }
  }
  return series;
}

// Consecutive entries of the same revision are one point.
void JoinRevisions(HistorySeries* series) {
  std::vector<std::string> revisions;
  std::vector<std::string> started_at;
  std::vector<std::vector<double>> logs;
  for (size_t i = 0; i < series->logs.size(); ++i) {
    if (revisions.empty() || revisions.back() != series->revisions[i]) {
      revisions.push_back(series->revisions[i]);
      started_at.push_back(series->started_at[i]);
      logs.emplace_back();
    }
    logs.back().push_back(series->logs[i]);
  }
  series->revisions = std::move(revisions);
  series->started_at = std::move(started_at);
  series->logs.clear();
  for (auto& group : logs) {
    series->logs.push_back(TrimmedMean(absl::MakeSpan(group)));
  }
}

}  // namespace

std::string ShortRevision(const std::string& revision) {
  return PrintableText(revision.size() == 40 ? revision.substr(0, 10)
                                             : revision);
}

std::vector<HistorySeries> HistoryOf(const std::vector<HistoryEntry>& entries,
                                     const HistoryOptions& options) {
  std::vector<HistorySeries> all = SeriesOf(entries, options.statistic);
  for (HistorySeries& series : all) {
    JoinRevisions(&series);
    series.steps = FindSteps(series.logs, options.change_points);
  }
  return all;
}

absl::StatusOr<std::vector<HistoryEntry>> ReadHistory(
    const std::vector<std::string>& paths,
    const std::function<void(const std::string&)>& warn) {
  std::vector<HistoryEntry> entries;
  HistoryReader history(&entries);
  RecordReader reader(
      [&history](absl::string_view record, JsonReader& json) {
        return history.Handle(record, json);
      },
      warn);
  for (const std::string& path : paths) {
    std::vector<std::string> files = {path};
    if (IsFolder(path)) {
      ASSIGN_OR_RETURN(files, ListPlainFiles(path, ".jsonl"));
    }
    for (const std::string& file : files) {
      history.StartFile(file);
      RETURN_IF_ERROR(reader.ReadFile(file));
    }
  }
  entries.erase(
      std::remove_if(entries.begin(), entries.end(),
                     [](const HistoryEntry& e) { return e.rows.empty(); }),
      entries.end());
  const bool all_have_times =
      std::all_of(entries.begin(), entries.end(),
                  [](const HistoryEntry& e) { return !e.started_at.empty(); });
  if (all_have_times) {
    std::stable_sort(entries.begin(), entries.end(),
                     [](const HistoryEntry& a, const HistoryEntry& b) {
                       return a.started_at < b.started_at;
                     });
  }
  return entries;
}

std::vector<ChangePoint> FindChangePoints(
    const std::vector<HistoryEntry>& entries, const HistoryOptions& options) {
  std::vector<ChangePoint> points;
  for (const HistorySeries& series : HistoryOf(entries, options)) {
    for (const Step& step : series.steps) {
      ChangePoint point;
      point.set_job_id(series.job_id);
      point.set_job(series.label);
      point.set_metric("time");
      point.set_machine_profile(series.machine_profile);
      point.set_before(series.revisions[step.before]);
      point.set_after(series.revisions[step.index]);
      point.set_index(static_cast<int64_t>(step.index));
      point.set_percent(100 * std::expm1(step.shift));
      point.set_p_value(step.p_value);
      if (step.gone_at > 0) point.set_gone_at(series.revisions[step.gone_at]);
      points.push_back(std::move(point));
    }
  }
  return points;
}

std::string HistoryText(const std::vector<ChangePoint>& points,
                        const std::vector<HistoryEntry>& entries,
                        const HistoryOptions& options) {
  std::string text;
  std::vector<HistorySeries> all = SeriesOf(entries, options.statistic);
  for (HistorySeries& series : all) {
    JoinRevisions(&series);
    bool any = false;
    for (const ChangePoint& point : points) {
      if (point.job_id() != series.job_id ||
          point.machine_profile() != series.machine_profile) {
        continue;
      }
      if (!any) {
        absl::StrAppend(&text, PrintableText(series.label), " on ",
                        PrintableText(series.machine_profile), "  ",
                        Sparkline(series.logs, 60), "\n");
      }
      any = true;
      absl::StrAppendFormat(
          &text, "  %+.1f%% after %s, at the latest in %s (p = %.1g)%s\n",
          point.percent(), ShortRevision(point.before()),
          ShortRevision(point.after()), point.p_value(),
          point.gone_at().empty()
              ? "; it is still there"
              : absl::StrCat("; it went away in ",
                             ShortRevision(point.gone_at())));
    }
  }
  absl::StrAppend(&text, points.size(),
                  points.size() == 1 ? " change in " : " changes in ",
                  all.size(), all.size() == 1 ? " job over " : " jobs over ",
                  entries.size(), " entries\n");
  return text;
}

}  // namespace feedrate
