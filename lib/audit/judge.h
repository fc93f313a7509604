// Epochs of a training -> what is wrong with its data, in words.
#pragma once

#include <vector>

#include "lib/audit/history.h"
#include "lib/records/audit_worker.pb.h"
#include "lib/records/loader.pb.h"

namespace feedrate {

// Judges a training by a run without kills and one with kills (null if there is
// none). Fills faults, notes, coverage and `training` of `audit`; sets its
// verdict to `pass` or `fail`, or leaves it empty, with a reason, if too little
// could be read or it is not known where a restart went on. `weights` are those
// of the sources of a mixture; empty if it is none.
//
// What an epoch without kills does on purpose is no fault: a last batch that is
// left out, and items that are repeated to give each rank as many batches.
void JudgeTraining(const AuditItems& items, const TrainingRun& whole,
                   const TrainingRun* killed,
                   const std::vector<double>& weights, Audit* audit);

}  // namespace feedrate
