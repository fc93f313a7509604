#include "lib/records/output_names.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "lib/records/records.pb.h"

namespace feedrate {

std::string ResultFileName(const Job& job, int num_runs) {
  std::string name =
      absl::StrCat(job.scenario(), "/", job.mode(), "/", job.library(), "_");
  if (job.mode() == "micro" || job.mode() == "decode") {
    name += job.mode();
  } else {
    absl::StrAppend(&name, job.scope(), "_n");
    job.num_items() == 0 ? absl::StrAppend(&name, "all")
                         : absl::StrAppend(&name, job.num_items());
    absl::StrAppend(&name, "_r", num_runs, "_w", job.workers(), "_b",
                    job.batch_size());
  }
  if (job.device() != "cpu") absl::StrAppend(&name, "_dev-", job.device());
  return name + "_results.jsonl";
}

}  // namespace feedrate
