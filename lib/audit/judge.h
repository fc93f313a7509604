// Epochs of a training -> what is wrong with its data, in words.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lib/audit/history.h"
#include "lib/records/audit_worker.pb.h"
#include "lib/records/loader.pb.h"

namespace feedrate {

struct JudgeRules {
  // Those of the sources of a mixture; empty if it is none.
  std::vector<double> weights;
  // Loaders that no training uses: items that are repeated to give each rank as
  // many batches are a fault, and unreadable ones prevent no verdict.
  bool is_strict = false;
  // Names items in faults. May be null.
  std::function<std::string(int64_t)> name;
};

// Judges a training by a run without kills and one with kills (null if there is
// none). Fills faults, notes, coverage and `training` of `audit`; sets its
// verdict to `pass` or `fail`, or leaves it empty, with a reason, if too little
// could be read or it is not known where a restart went on.
//
// What an epoch without kills does on purpose is no fault: a last batch that is
// left out, and items that are repeated to give each rank as many batches.
void JudgeTraining(const AuditItems& items, const TrainingRun& whole,
                   const TrainingRun* killed, const JudgeRules& rules,
                   Audit* audit);

}  // namespace feedrate
