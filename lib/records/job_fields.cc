#include "lib/records/job_fields.h"

#include <string>

namespace feedrate {
namespace {

// Fields of one name and type in both messages.
template <typename From, typename To>
void CopyCommon(const From& from, To* to) {
  to->set_job_id(from.job_id());
  to->set_scenario(from.scenario());
  to->set_mode(from.mode());
  to->set_scope(from.scope());
  to->set_library(from.library());
  to->set_transform(from.transform());
  to->set_device(from.device());
  to->set_num_items(from.num_items());
  to->set_batch_size(from.batch_size());
  to->set_workers(from.workers());
  to->set_thread_policy(from.thread_policy());
  to->set_params_profile(from.params_profile());
  to->set_seed(from.seed());
  *to->mutable_settings() = from.settings();
  to->set_params_sha256(from.params_sha256());
  to->set_env_group(from.env_group());
  to->set_env_set(from.env_set());
  to->set_hardware_class(from.hardware_class());
}

bool IsEarned(const std::string& label) {
  return label == "memory_limited" || label == "cold";
}

}  // namespace

Row RowOfJob(const Job& job) {
  Row row;
  CopyCommon(job, &row);
  row.mutable_dataset()->set_id(job.dataset());
  *row.mutable_labels() = job.labels();
  return row;
}

Job JobOfRow(const Row& row) {
  Job job;
  CopyCommon(row, &job);
  job.set_dataset(row.dataset().id());
  for (const std::string& label : row.labels()) {
    if (!IsEarned(label)) job.add_labels(label);
  }
  return job;
}

}  // namespace feedrate
