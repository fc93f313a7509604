#include "lib/gate/job_of_row.h"

namespace feedrate {

Job JobOfRow(const Row& row) {
  Job job;
  job.set_job_id(row.job_id());
  job.set_scenario(row.scenario());
  job.set_mode(row.mode());
  job.set_scope(row.scope());
  job.set_library(row.library());
  job.set_transform(row.transform());
  job.set_device(row.device());
  job.set_num_items(row.num_items());
  job.set_batch_size(row.batch_size());
  job.set_workers(row.workers());
  job.set_thread_policy(row.thread_policy());
  job.set_params_profile(row.params_profile());
  job.set_dataset(row.dataset().id());
  job.set_seed(row.seed());
  *job.mutable_settings() = row.settings();
  job.set_params_sha256(row.params_sha256());
  job.add_run_indexes(row.run_index());
  job.set_env_group(row.env_group());
  job.set_env_set(row.env_set());
  job.set_hardware_class(row.hardware_class());
  *job.mutable_labels() = row.labels();
  return job;
}

}  // namespace feedrate
