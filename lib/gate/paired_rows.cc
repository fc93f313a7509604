#include "lib/gate/paired_rows.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "lib/stats/quantiles.h"

namespace feedrate {

std::string JobLabel(const Row& row) {
  std::vector<std::string> words;
  const auto add = [&words](const std::string& word) {
    if (!word.empty()) words.push_back(word);
  };
  if (row.mode() == "command") {
    const auto name = row.settings().find("name");
    if (name != row.settings().end()) return name->second;
  }
  if (row.mode() != "micro") add(row.mode());
  add(row.library());
  add(row.transform());
  if (row.device() != "cpu") add(row.device());
  if (row.batch_size() > 1) {
    add(absl::StrCat("batch_size=", row.batch_size()));
  }
  if (row.workers() > 0) add(absl::StrCat("workers=", row.workers()));
  const std::map<std::string, std::string> settings(row.settings().begin(),
                                                    row.settings().end());
  for (const auto& setting : settings) {
    add(absl::StrCat(setting.first, "=", setting.second));
  }
  return words.empty() ? row.job_id() : absl::StrJoin(words, " ");
}

bool GlobMatches(absl::string_view pattern, absl::string_view text) {
  size_t p = 0;
  size_t t = 0;
  size_t star = absl::string_view::npos;
  size_t after_star = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      after_star = t;
    } else if (p < pattern.size() &&
               (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != absl::string_view::npos) {
      p = star + 1;
      t = ++after_star;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool IsWantedJob(absl::string_view wanted, absl::string_view job_id,
                 absl::string_view label) {
  if (wanted.empty() || wanted == job_id) return true;
  if (wanted.size() >= 4 && absl::StartsWith(job_id, wanted)) return true;
  return GlobMatches(wanted, label);
}

std::string SecondsText(double seconds) {
  if (seconds >= 1) return absl::StrFormat("%.3f s", seconds);
  if (seconds >= 1e-3) return absl::StrFormat("%.1f ms", seconds * 1e3);
  if (seconds >= 1e-6) return absl::StrFormat("%.1f µs", seconds * 1e6);
  return absl::StrFormat("%.1f ns", seconds * 1e9);
}

absl::optional<RunStatistic> ParseRunStatistic(const std::string& name) {
  if (name == "typical") return RunStatistic::kTypical;
  if (name == "total") return RunStatistic::kTotal;
  if (name == "p90") return RunStatistic::kP90;
  return absl::nullopt;
}

const std::vector<std::string>& RunStatisticNames() {
  static const auto* names =
      new std::vector<std::string>{"typical", "total", "p90"};
  return *names;
}

absl::optional<double> RunLog(const Row& row, RunStatistic statistic) {
  if (row.status() != "ok") return absl::nullopt;
  std::vector<double> samples(row.samples_s().begin(), row.samples_s().end());
  const bool are_times =
      !samples.empty() &&
      std::all_of(samples.begin(), samples.end(),
                  [](double s) { return std::isfinite(s) && s > 0; });
  if (statistic != RunStatistic::kTotal && are_times) {
    return statistic == RunStatistic::kP90 ? std::log(Quantile(samples, 0.9))
                                           : TypicalLog(samples);
  }
  if (row.elapsed_s() > 0 && row.items() > 0) {
    const double seconds = row.elapsed_s() / static_cast<double>(row.items());
    // A few items in no time to speak of may round to 0.
    if (seconds > 0) return std::log(seconds);
  }
  if (row.throughput() > 0) return -std::log(row.throughput());
  return absl::nullopt;
}

std::vector<const RunPair*> PairedJob::CountingPairs() const {
  std::vector<const RunPair*> whole;
  std::vector<const RunPair*> alone;
  for (const auto& pair : pairs) {
    if (!pair.second.IsWhole()) continue;
    whole.push_back(&pair.second);
    if (!pair.second.SharesGpu()) alone.push_back(&pair.second);
  }
  return 2 * alone.size() > whole.size() ? alone : whole;
}

std::vector<double> PairedJob::Differences() const {
  std::vector<double> differences;
  for (const RunPair* pair : CountingPairs()) {
    differences.push_back(pair->b.Log() - pair->a.Log());
  }
  return differences;
}

int PairedJob::LastStage() const {
  int stage = 0;
  for (const auto& pair : pairs) {
    if (pair.second.IsWhole()) stage = std::max(stage, pair.second.stage);
  }
  return stage;
}

double PairedJob::TypicalSeconds(bool side_b) const {
  const std::vector<const RunPair*> counting = CountingPairs();
  double sum = 0;
  for (const RunPair* pair : counting) {
    sum += side_b ? pair->b.Log() : pair->a.Log();
  }
  return counting.empty()
             ? 0
             : std::exp(sum / static_cast<double>(counting.size()));
}

namespace {

void AddParts(const Row& row, std::map<std::string, double>* parts_s) {
  for (const LoaderStage& stage : row.loader().stages()) {
    const double items = row.items() > 0 ? static_cast<double>(row.items()) : 1;
    if (std::isfinite(stage.busy_s())) {
      (*parts_s)[stage.name()] += stage.busy_s() / items;
    }
  }
  if (!row.train().has_budget()) return;
  const StepBudget& budget = row.train().budget();
  const google::protobuf::Descriptor& fields = *StepBudget::descriptor();
  for (int i = 0; i < fields.field_count(); ++i) {
    const google::protobuf::FieldDescriptor& field = *fields.field(i);
    const std::string name(absl::StripSuffix(field.name(), "_s"));
    const double part_s =
        StepBudget::GetReflection()->GetDouble(budget, &field);
    if (std::isfinite(part_s)) (*parts_s)[name] += part_s;
  }
}

}  // namespace

std::vector<MetricPair> PairedJob::MetricPairs(size_t metric) const {
  std::vector<MetricPair> values;
  for (const auto& pair : pairs) {
    if (!pair.second.IsWhole()) continue;
    const auto& a = pair.second.a.metrics[metric];
    const auto& b = pair.second.b.metrics[metric];
    if (a.second == 0 || b.second == 0) continue;
    values.push_back({a.first / a.second, b.first / b.second,
                      pair.second.a.position < pair.second.b.position});
  }
  return values;
}

void PairedRows::Add(const Row& row) {
  if (!row.has_pair() || row.library() == "null") return;
  const std::string& contest = row.pair().contest();
  const auto added =
      index_.emplace(std::make_pair(contest, row.job_id()), jobs_.size());
  if (added.second) {
    jobs_.emplace_back();
    jobs_.back().job_id = row.job_id();
    jobs_.back().contest = contest;
    jobs_.back().label = JobLabel(row);
    if (!contest.empty()) {
      absl::StrAppend(&jobs_.back().label, " [", contest, "]");
    }
    jobs_.back().machine_profile = row.machine_profile();
    jobs_.back().row = row;
  }
  PairedJob& job = jobs_[added.first->second];
  job.profiles.insert(row.machine_profile());
  const bool side_b = row.pair().side() == "b";
  const absl::optional<double> log = RunLog(row, statistic_);
  if (!log) {
    const std::string status = row.status() == "ok" ? "no_time" : row.status();
    (side_b ? job.b_problems : job.a_problems).emplace(status, row.reason());
    return;
  }
  RunPair& pair = job.pairs[row.pair().index()];
  pair.stage = std::max(pair.stage, row.pair().stage());
  PairSide& side = side_b ? pair.b : pair.a;
  AddParts(row, &side.parts_s);
  side.log_sum += *log;
  side.position = row.pair().position();
  if (row.gpu().other_processes() > 0) {
    side.gpu_others = std::max(side.gpu_others, row.gpu().other_busy());
  }
  ++side.rows;
  side.metrics.resize(choice_.metrics.size());
  for (size_t i = 0; i < choice_.metrics.size(); ++i) {
    const absl::optional<double> value = MetricOf(row, choice_.metrics[i]);
    if (!value) continue;
    side.metrics[i].first += *value;
    ++side.metrics[i].second;
  }
}

void PairedRows::Add(const Control& control) {
  if (!(control.seconds() > 0)) return;
  const Pair& where = control.pair();
  auto known = std::find_if(
      controls_.begin(), controls_.end(), [&](const PairedJob& job) {
        return job.label == control.name() && job.contest == where.contest();
      });
  if (known == controls_.end()) {
    known = controls_.emplace(controls_.end());
    known->label = control.name();
    known->contest = where.contest();
  }
  RunPair& pair = known->pairs[where.index()];
  PairSide& side = where.side() == "b" ? pair.b : pair.a;
  side.log_sum += std::log(control.seconds());
  ++side.rows;
}

}  // namespace feedrate
