#include "lib/gate/simulation/replay.h"

#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lib/base/xoshiro.h"
#include "lib/gate/duel/undecided_jobs.h"
#include "lib/gate/paired_rows.h"
#include "lib/gate/verdict/compare_stored.h"
#include "lib/gate/verdict/verdicts.h"
#include "lib/stats/elsewhere.h"
#include "lib/stats/paired_design.h"
#include "lib/stats/quantiles.h"
#include "lib/stats/summary.h"

namespace feedrate {
namespace {

constexpr int kSamples = 5;
constexpr int kRuns = 5;

Row JobRow(int job) {
  Row row;
  row.set_job_id(absl::StrCat("job", job));
  row.set_mode("micro");
  row.set_library("lib");
  row.set_transform(row.job_id());
  row.set_device("cpu");
  row.set_status("ok");
  row.set_machine_profile("m");
  return row;
}

double SlowdownOf(const ReplayedPull& pull) {
  return std::log1p(pull.slowdown_percent / 100);
}

// All jobs of one execution.
std::vector<Row> Execute(int jobs, double slowdown, const std::string& run_id,
                         ReplayedMachine* machine) {
  machine->StartProcess();
  std::vector<Row> rows;
  // The runs of a job are spread over the suite, as `micro` does it.
  for (int run = 0; run < kRuns; ++run) {
    for (int job = 0; job < jobs; ++job) {
      rows.push_back(JobRow(job));
      rows.back().set_run_id(run_id);
      rows.back().set_run_index(run);
      machine->Run(job, slowdown, kSamples, &rows.back());
    }
  }
  return rows;
}

std::vector<std::vector<double>> SamplesByJob(int jobs,
                                              const std::vector<Row>& rows) {
  std::vector<std::vector<double>> samples(jobs);
  for (size_t i = 0; i < rows.size(); ++i) {
    std::vector<double>& of_job = samples[i % jobs];
    of_job.insert(of_job.end(), rows[i].samples_s().begin(),
                  rows[i].samples_s().end());
  }
  return samples;
}

using Lists = std::vector<std::vector<double>>;

std::string JsonOf(const Lists& lists) {
  std::vector<std::string> texts;
  for (const std::vector<double>& list : lists) {
    texts.push_back(absl::StrJoin(list, ",", [](std::string* out, double x) {
      absl::StrAppendFormat(out, "%.6g", x);
    }));
  }
  return absl::StrCat("[[", absl::StrJoin(texts, "],["), "]]");
}

void AddMedians(Lists samples, Lists* medians) {
  medians->resize(samples.size());
  for (size_t i = 0; i < samples.size(); ++i) {
    (*medians)[i].push_back(SelectQuantile(absl::MakeSpan(samples[i]), 0.5));
  }
}

}  // namespace

Verdict ReplayDuel(const ReplayedPull& pull, int max_pairs) {
  Xoshiro256 random(pull.seed);
  const std::vector<ReplayedJob> natures = DrawJobs(pull.jobs, &random);
  ReplayedMachine machine(pull.noise, &natures, kDayS * random.Uniform(),
                          random.Bits());
  PairedRows rows(RunStatistic::kTypical);
  Duel duel;
  const std::vector<int> looks = DefaultLooks(max_pairs);
  duel.mutable_stages()->Add(looks.begin(), looks.end());
  rows.Add(duel);
  UndecidedJobs undecided;
  Contest contest;
  int pair = 0;
  for (int stage = 0; stage < static_cast<int>(looks.size()); ++stage) {
    for (; pair < looks[stage]; ++pair) {
      const bool b_first = random.Coin();
      for (int position = 0; position < 2; ++position) {
        const bool is_b = b_first == (position == 0);
        machine.StartProcess();
        for (int job = 0; job < pull.jobs; ++job) {
          Row row = JobRow(job);
          if (!undecided.Has(contest, row.job_id())) continue;
          machine.Run(job, is_b ? SlowdownOf(pull) : 0, kSamples, &row);
          Pair* const of = row.mutable_pair();
          of->set_index(pair);
          of->set_side(is_b ? "b" : "a");
          of->set_position(position);
          of->set_stage(stage);
          rows.Add(row);
        }
      }
    }
    undecided = undecided.After(rows, rows.choice(), {}, stage);
    if (undecided.empty()) break;
  }
  return SuiteVerdict(JudgePairs(rows, {}), {});
}

StoredReplay ReplayStored(const ReplayedPull& pull, bool with_series) {
  Xoshiro256 random(pull.seed);
  const std::vector<ReplayedJob> natures = DrawJobs(pull.jobs, &random);
  std::vector<Row> baseline;
  std::vector<Row> current;
  Lists stored, last, now, first, sequential[2];
  const double hour = kDayS * random.Uniform();
  const auto add = [](std::vector<Row> rows, std::vector<Row>* to) {
    to->insert(to->end(), std::make_move_iterator(rows.begin()),
               std::make_move_iterator(rows.end()));
  };
  for (int night = 0; night < kReplayedNights; ++night) {
    ReplayedMachine machine(pull.noise, &natures, hour + kDayS * night,
                            random.Bits());
    std::vector<Row> rows =
        Execute(pull.jobs, 0, absl::StrCat("night", night), &machine);
    if (with_series) AddMedians(last = SamplesByJob(pull.jobs, rows), &stored);
    add(std::move(rows), &baseline);
  }
  const double today = kDayS * (kReplayedNights + random.Uniform());
  ReplayedMachine machine(pull.noise, &natures, today, random.Bits());
  for (int i = 0; i < kReplayedExecutions; ++i) {
    std::vector<Row> rows =
        Execute(pull.jobs, SlowdownOf(pull), absl::StrCat("now", i), &machine);
    if (with_series) {
      Lists samples = SamplesByJob(pull.jobs, rows);
      if (i == 0) first = samples;
      AddMedians(std::move(samples), &now);
    }
    add(std::move(rows), &current);
  }
  RuleOptions rules;
  Tolerance* const tolerance = rules.tolerances.add_tolerances();
  tolerance->set_metric("throughput");
  tolerance->set_better(HIGHER);
  tolerance->set_percent(kReplayedTolerancePercent);
  StoredReplay replay;
  replay.suite = SuiteVerdict(
      CompareRowFiles(std::move(current), std::move(baseline), rules), {});
  if (!with_series) return replay;
  for (const bool is_b : {false, true}) {
    sequential[is_b] = SamplesByJob(
        pull.jobs,
        Execute(pull.jobs, is_b ? SlowdownOf(pull) : 0, "x", &machine));
  }
  replay.series = absl::StrCat(
      "\"noise\":\"", PublishedNoiseName(pull.noise),
      "\",\"slowdown\":", pull.slowdown_percent,
      ",\"stored_slower\":", replay.suite.counts().slower(),
      ",\"stored\":", JsonOf(stored), ",\"now\":", JsonOf(now),
      ",\"last\":", JsonOf(last), ",\"new\":", JsonOf(first),
      ",\"a\":", JsonOf(sequential[0]), ",\"b\":", JsonOf(sequential[1]));
  return replay;
}

ElsewhereReplay ReplayElsewhere(const ReplayedPull& pull) {
  Xoshiro256 random(pull.seed);
  const std::vector<ReplayedJob> natures = DrawJobs(pull.jobs, &random);
  // The throughputs of the runs of each job.
  const auto measure = [&](int day) {
    ReplayedMachine machine(pull.noise, &natures,
                            kDayS * (day + random.Uniform()), random.Bits());
    Lists runs(pull.jobs);
    const std::vector<Row> rows = Execute(pull.jobs, 0, "x", &machine);
    for (size_t i = 0; i < rows.size(); ++i) {
      runs[i % pull.jobs].push_back(rows[i].throughput());
    }
    return runs;
  };
  const auto median_of = [](std::vector<double> values) {
    return SelectQuantile(absl::MakeSpan(values), 0.5);
  };
  std::vector<ExecutionOfJobs> executions;
  Lists all(pull.jobs);
  for (int i = 0; i < kReplayedExecutions; ++i) {
    const Lists runs = measure(0);
    ExecutionOfJobs& execution = executions.emplace_back();
    execution.machine = absl::StrCat("machine", i);
    for (int job = 0; job < pull.jobs; ++job) {
      execution.medians.push_back(median_of(runs[job]));
      all[job].insert(all[job].end(), runs[job].begin(), runs[job].end());
    }
  }
  const Lists next = measure(1);
  const Elsewhere elsewhere = *FindElsewhere(executions);
  ElsewhereReplay replay;
  const auto contains = [](const Interval& interval, double value) {
    return interval.low <= value && value <= interval.high;
  };
  for (int job = 0; job < pull.jobs; ++job) {
    const double median = median_of(next[job]);
    const Interval& interval = *elsewhere.intervals[job];
    ++replay.medians;
    replay.in_elsewhere += contains(interval, median) ? 1 : 0;
    replay.in_interval +=
        contains(*MedianInterval(absl::MakeSpan(all[job])), median) ? 1 : 0;
    replay.width += std::log(interval.high / interval.low) / pull.jobs;
  }
  return replay;
}

}  // namespace feedrate
