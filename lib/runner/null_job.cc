#include "lib/runner/null_job.h"

#include "lib/records/job_identity.h"
#include "lib/records/records.pb.h"

namespace feedrate {

bool IsNullJob(const Job& job) { return job.library() == "null"; }

Job NullJob(const Job& job) {
  Job null;
  null.set_scenario(job.scenario());
  null.set_mode(job.mode());
  null.set_scope(job.scope());
  null.set_library("null");
  null.set_transform("Nothing");
  null.set_device("cpu");
  null.set_num_items(job.num_items());
  null.set_batch_size(job.batch_size());
  null.set_thread_policy(job.thread_policy());
  null.set_dataset(job.dataset());
  null.set_seed(job.seed());
  null.set_hardware_class(job.hardware_class());
  null.add_run_indexes(0);
  null.set_job_id(JobId(null));
  null.set_output(ResultFileName(null, 1));
  return null;
}

}  // namespace feedrate
