// Rows for tests of reports.
#ifndef FEEDRATE_LIB_ANALYSIS_REPORT_TESTING_ROWS_H_
#define FEEDRATE_LIB_ANALYSIS_REPORT_TESTING_ROWS_H_

#include <string>

#include "lib/records/records.pb.h"

namespace feedrate {

// An `ok` micro row of `library`, `transform` and throughput, on one machine.
inline Row MakeRow(const std::string& library, const std::string& transform,
                   double throughput, int run_index = 0) {
  Row row;
  row.set_job_id(library + "/" + transform);
  row.set_scenario("image-rgb");
  row.set_mode("micro");
  row.set_library(library);
  row.set_transform(transform);
  row.set_device("cpu");
  row.set_run_index(run_index);
  row.set_status("ok");
  row.set_unit("image");
  row.set_throughput(throughput);
  row.set_machine_profile("machine");
  row.set_library_version("1.0");
  row.mutable_equivalence()->set_label("exact");
  return row;
}

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_REPORT_TESTING_ROWS_H_
