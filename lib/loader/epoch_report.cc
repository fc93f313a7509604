#include "lib/loader/epoch_report.h"

#include <utility>
#include <vector>

#include "lib/worker/loader_message.h"

namespace feedrate {

void ReportFaults(const FaultList& faults, EpochReply* reply) {
  reply->errors_total = faults.total();
  for (ItemFault& fault : faults.kept()) {
    if (reply->errors.size() == kMaxNamedErrors) return;
    reply->errors.push_back(
        {fault.item, std::move(fault.name), std::move(fault.reason)});
  }
}

void ReportStages(const std::vector<StageReport>& stages, EpochReply* reply) {
  for (const StageReport& stage : stages) {
    reply->stages.push_back({stage.name, stage.busy_s, stage.wait_in_s,
                             stage.wait_out_s, stage.queue_fill});
  }
}

}  // namespace feedrate
