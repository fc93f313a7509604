// Where the time of an epoch went.
#ifndef FEEDRATE_LIB_LOADER_STAGE_REPORT_H_
#define FEEDRATE_LIB_LOADER_STAGE_REPORT_H_

#include <string>

namespace feedrate {

// One stage; seconds are summed over the threads that do its work.
struct StageReport {
  std::string name;  // `read`, `decode`, `augment`, `collate` or `copy`.
  double busy_s = 0;
  double wait_in_s = 0;   // For something to do.
  double wait_out_s = 0;  // For room to put it.
  // Mean share of the queue behind it that was full when it was looked at.
  double queue_fill = 0;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_STAGE_REPORT_H_
