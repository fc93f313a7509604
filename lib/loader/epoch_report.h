// What loaders tell of an epoch, in the words of the conversation with workers.
#ifndef FEEDRATE_LIB_LOADER_EPOCH_REPORT_H_
#define FEEDRATE_LIB_LOADER_EPOCH_REPORT_H_

#include <vector>

#include "lib/loader/fault_list.h"
#include "lib/loader/stage_report.h"
#include "lib/worker/loader_message.h"

namespace feedrate {

// How many there were, and the first of them by name.
void ReportFaults(const FaultList& faults, EpochReply* reply);

void ReportStages(const std::vector<StageReport>& stages, EpochReply* reply);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_EPOCH_REPORT_H_
