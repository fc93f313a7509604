#include "lib/loader/epoch_report.h"

#include "lib/records/worker.pb.h"

namespace feedrate {

void ReportFaults(const FaultList& faults, EpochReply* reply) {
  reply->set_errors_total(faults.total());
  for (ItemFault& fault : faults.all()) {
    if (reply->errors_size() == kMaxNamedErrors) return;
    LoaderError* const error = reply->add_errors();
    error->set_item(fault.item);
    error->set_path(std::move(fault.name));
    error->set_reason(std::move(fault.reason));
  }
}

void ReportStages(const std::vector<StageReport>& stages, EpochReply* reply) {
  for (const StageReport& stage : stages) {
    StageTimes* const times = reply->add_stages();
    times->set_name(stage.name);
    times->set_busy_s(stage.busy_s);
    times->set_wait_in_s(stage.wait_in_s);
    times->set_wait_out_s(stage.wait_out_s);
    times->set_queue_fill(stage.queue_fill);
  }
}

}  // namespace feedrate
