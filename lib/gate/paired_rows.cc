#include "lib/gate/paired_rows.h"

#include <algorithm>
#include <cmath>

#include "lib/gate/job_words.h"

namespace feedrate {

std::vector<double> PairedJob::Differences() const {
  std::vector<double> differences;
  for (const auto& pair : pairs) {
    if (!pair.second.IsWhole()) continue;
    differences.push_back(pair.second.b.Log() - pair.second.a.Log());
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
  double sum = 0;
  int count = 0;
  for (const auto& pair : pairs) {
    if (!pair.second.IsWhole()) continue;
    sum += side_b ? pair.second.b.Log() : pair.second.a.Log();
    ++count;
  }
  return count == 0 ? 0 : std::exp(sum / count);
}

void PairedRows::Add(const Row& row) {
  if (!row.has_pair()) {
    ++unpaired_rows_;
    return;
  }
  // What the harness itself costs; nobody's regression.
  if (row.library() == "null") return;
  const auto added = index_.emplace(row.job_id(), jobs_.size());
  if (added.second) {
    jobs_.emplace_back();
    jobs_.back().job_id = row.job_id();
    jobs_.back().words = JobWords(row);
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
  side.log_sum += *log;
  side.position = row.pair().position();
  ++side.rows;
}

}  // namespace feedrate
