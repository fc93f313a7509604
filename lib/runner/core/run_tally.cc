#include "lib/runner/core/run_tally.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "lib/base/text.h"
#include "lib/draw/text.h"
#include "lib/measure/measure_run.h"
#include "lib/records/attempts.h"
#include "lib/stats/summary.h"

namespace feedrate {
namespace {

constexpr int kBusyLooks = 15;

// Longer reasons are in the rows.
constexpr size_t kReasonColumns = 50;

bool IsFailure(const std::string& status) {
  return status != "ok" && status != "early_stopped" && status != "unsupported";
}

std::string ValueOf(
    const std::vector<std::pair<std::string, std::string>>& fields,
    const std::string& name) {
  for (const auto& [field, value] : fields) {
    if (field == name) return value;
  }
  return "";
}

}  // namespace

void RunTally::Add(const Row& row) {
  ++by_status_[row.status()];
  if (row.library() == "null") return;
  const auto [entry, is_new] = known_.emplace(row.job_id(), jobs_.size());
  if (is_new) {
    JobOfRows& job = jobs_.emplace_back();
    job.unit = row.unit();
    job.fields = {{"transform", row.transform()},
                  {"library", row.library()},
                  {"scenario", row.scenario()},
                  {"mode", row.mode()},
                  {"scope", row.scope()},
                  {"device", row.device()},
                  {"num_items", absl::StrCat(row.num_items())},
                  {"batch_size", absl::StrCat(row.batch_size())},
                  {"workers", absl::StrCat(row.workers())},
                  {"thread_policy", row.thread_policy()},
                  {"params_profile", row.params_profile()},
                  {"seed", absl::StrCat(row.seed())}};
    const std::map<std::string, std::string> settings(row.settings().begin(),
                                                      row.settings().end());
    job.fields.insert(job.fields.end(), settings.begin(), settings.end());
  }
  JobOfRows& job = jobs_[entry->second];
  if (!row.equivalence().label().empty()) {
    job.output = row.equivalence().label();
  }
  for (const std::string& label : row.labels()) {
    if (QualifiesSpeed(label)) job.labels.insert(label);
  }
  Run run = {AttemptRank(row), row.status(), row.reason(), row.throughput(),
             std::vector<std::string>(row.noise().causes().begin(),
                                      row.noise().causes().end())};
  auto& runs = job.runs;
  const auto known = runs.find(row.run_index());
  if (known == runs.end()) {
    runs.emplace(row.run_index(), std::move(run));
    return;
  }
  ++repeated_;
  if (run.rank <= known->second.rank) known->second = std::move(run);
}

bool RunTally::AllFailed() const {
  bool any = false;
  for (const JobOfRows& job : jobs_) {
    for (const auto& [index, run] : job.runs) {
      if (run.status == "ok" || run.status == "early_stopped") return false;
      any |= IsFailure(run.status);
    }
  }
  return any;
}

std::string RunTally::FirstFailure() const {
  for (const JobOfRows& job : jobs_) {
    for (const auto& [index, run] : job.runs) {
      if (!IsFailure(run.status)) continue;
      std::string name = ValueOf(job.fields, "library");
      const std::string transform = ValueOf(job.fields, "transform");
      if (!transform.empty()) absl::StrAppend(&name, " ", transform);
      return PrintableText(absl::StrCat("; the first failure: ", name, ": ",
                                        run.status, ": ", run.reason));
    }
  }
  return "";
}

std::string RunTally::Counts() const {
  int64_t rows = 0;
  std::vector<std::string> parts;
  for (const auto& [status, count] : by_status_) {
    parts.push_back(absl::StrCat(count, " ", status));
    rows += count;
  }
  std::string text = Counted(rows, "row");
  if (rows > 0) absl::StrAppend(&text, " (", absl::StrJoin(parts, ", "), ")");
  return text;
}

std::string RunTally::Noise(double waited_s, double stable_within) const {
  int64_t disturbed = 0, wide = 0;
  std::map<std::string, int64_t> causes;
  for (const JobOfRows& job : jobs_) {
    for (const auto& [index, run] : job.runs) {
      disturbed += run.causes.empty() ? 0 : 1;
      for (const std::string& cause : run.causes) ++causes[cause];
    }
    wide += MedianIsWide(Throughputs(job), stable_within) ? 1 : 0;
  }
  std::vector<std::string> parts;
  for (const auto& [cause, count] : causes) {
    parts.push_back(absl::StrCat(cause, " in ", count));
  }
  std::string text = "; no run noisy";
  if (disturbed > 0) {
    text = absl::StrFormat("; %d %s noisy, contended or throttled (%s)",
                           disturbed, disturbed == 1 ? "run" : "runs",
                           absl::StrJoin(parts, ", "));
    if (waited_s > 0) {
      absl::StrAppendFormat(&text, " after waiting %.1f s for a quiet machine",
                            waited_s);
    }
  }
  if (repeated_ > 0) {
    absl::StrAppend(&text, "; ", Counted(repeated_, "run"), " measured again");
  }
  if (wide > 0) {
    absl::StrAppendFormat(&text, "; %s of %d %s not within %.3g%%",
                          wide == 1 ? "median" : "medians", wide,
                          wide == 1 ? "job" : "jobs", 100 * stable_within);
  }
  return text;
}

std::string RunTally::Busy(const std::vector<std::string>& causes) {
  if (causes.empty() || ++busy_looks_ != kBusyLooks) return "";
  return absl::StrCat("the machine is busy with other work (",
                      absl::StrJoin(causes, ", "),
                      "); rows say which runs that disturbed");
}

bool RunTally::HasDisturbedRuns() const {
  for (const JobOfRows& job : jobs_) {
    for (const auto& run : job.runs) {
      if (!run.second.causes.empty()) return true;
    }
  }
  return false;
}

std::vector<double> RunTally::Throughputs(const JobOfRows& job) {
  std::vector<double> values;
  for (const auto& [index, run] : job.runs) {
    if (run.status == "ok") values.push_back(run.throughput);
  }
  return values;
}

std::string RunTally::Remark(const JobOfRows& job) {
  std::map<std::string, int64_t> causes;
  for (const auto& [index, run] : job.runs) {
    if (run.status == "ok") {
      for (const std::string& cause : run.causes) ++causes[cause];
      continue;
    }
    return absl::StrCat(run.status, ": ",
                        FirstWords(run.reason, kReasonColumns));
  }
  std::vector<std::string> parts(job.labels.begin(), job.labels.end());
  for (const auto& [cause, count] : causes) {
    parts.push_back(
        absl::StrCat(cause, " in ", count, " of ", job.runs.size()));
  }
  return absl::StrJoin(parts, ", ");
}

std::vector<std::string> RunTally::Columns() const {
  std::vector<std::string> columns;
  for (const JobOfRows& job : jobs_) {
    for (const auto& [name, value] : job.fields) {
      if (std::find(columns.begin(), columns.end(), name) != columns.end()) {
        continue;
      }
      const bool varies =
          std::any_of(jobs_.begin(), jobs_.end(),
                      [&name = name, &value = value](const JobOfRows& other) {
                        return ValueOf(other.fields, name) != value;
                      });
      // These two say what a job is, also if there is only one.
      const bool names_job =
          !value.empty() && (name == "transform" || name == "library");
      if (varies || names_job) columns.push_back(name);
    }
  }
  return columns;
}

std::string RunTally::Table() const {
  if (jobs_.empty()) return "";
  const std::vector<std::string> columns = Columns();
  std::vector<std::string> header = columns;
  std::vector<Align> align(columns.size(), Align::kLeft);
  for (const std::string& name :
       {std::string("runs"), absl::StrCat(jobs_[0].unit, "s/s"),
        std::string("95% interval")}) {
    header.push_back(name);
    align.push_back(Align::kRight);
  }
  const bool compared =
      std::any_of(jobs_.begin(), jobs_.end(),
                  [](const JobOfRows& job) { return !job.output.empty(); });
  if (compared) {
    header.emplace_back("output");
    align.push_back(Align::kLeft);
  }
  header.emplace_back("disturbed or ended by");
  align.push_back(Align::kLeft);
  feedrate::Table table(header, align);
  for (const JobOfRows& job : jobs_) {
    std::vector<std::string> cells;
    for (const std::string& name : columns) {
      cells.push_back(PrintableText(ValueOf(job.fields, name)));
    }
    std::vector<double> values = Throughputs(job);
    cells.push_back(absl::StrCat(values.size()));
    if (values.empty()) {
      cells.insert(cells.end(), 2, "–");
    } else {
      const Summary summary = Summarize(absl::MakeSpan(values));
      cells.push_back(SignificantText(summary.median));
      cells.push_back(
          summary.interval.has_value()
              ? absl::StrCat(SignificantText(summary.interval->low), " … ",
                             SignificantText(summary.interval->high))
              : "–");
    }
    if (compared) cells.push_back(job.output.empty() ? "–" : job.output);
    cells.push_back(PrintableText(Remark(job)));
    table.AddRow(std::move(cells));
  }
  return absl::StrCat("Median throughput of each job's runs\n", table.ToText());
}

}  // namespace feedrate
