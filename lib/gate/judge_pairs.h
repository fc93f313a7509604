// Verdicts on the jobs of a duel.
#ifndef FEEDRATE_LIB_GATE_JUDGE_PAIRS_H_
#define FEEDRATE_LIB_GATE_JUDGE_PAIRS_H_

#include <map>
#include <string>
#include <vector>

#include "lib/gate/paired_rows.h"
#include "lib/records/records.pb.h"
#include "lib/stats/paired_design.h"

namespace feedrate {

struct PairedOptions {
  // Smallest change of interest, in percent.
  double interest_percent = kInterestPercent;
  // Smallest change that a calibration showed to be seen, by job id, in
  // percent. Below it nothing is judged.
  std::map<std::string, double> floor_percent;
};

// The design that a duel followed: its own record says, else the stages of its
// rows do. `jobs` decides about the level.
PairedDesign DesignOf(const PairedRows& rows, const PairedOptions& options);

// Jobs that the level is shared by: those with a whole pair, at least 1.
int64_t JudgedJobs(const PairedRows& rows);

// One verdict a job, in their order.
std::vector<Verdict> JudgePairs(const PairedRows& rows,
                                const PairedOptions& options);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_GATE_JUDGE_PAIRS_H_
