// What `train` prints for people: where the time of a step goes, and what
// limits it.
#pragma once

#include <string>
#include <vector>

#include "lib/records/row.pb.h"
#include "lib/records/train.pb.h"

namespace feedrate {

// One line per row that is ok: rates, use of the device, and where the time of
// a step went. All times are means, so that the parts add up to the step.
std::string TrainTable(const std::vector<Row>& rows);

// Compares loaders and storage for rows of scope `e2e`, by the mean step: a
// loader that lags behind stalls some steps and not others. Empty without such
// rows.
std::string LoaderTable(const std::vector<Row>& rows);

// A line per job with its speed-up, by the median of its runs, over the job
// with the settings of `relative_to` (`precision=fp32,engine=eager`) that is
// like it otherwise, and over the line before. One line that says what is wrong
// if there is no such job.
std::string LadderTable(const std::vector<Row>& rows,
                        const std::string& relative_to);

// Results on the validation data by step. Empty without.
std::string ValidationTable(const std::vector<Row>& rows);

// The longest kernels of the profiled steps by part of the step. Empty without.
std::string KernelTable(const Train& train);

// One line: what limits the step, its largest part, and that part's largest
// kernel. REQUIRES: the row is ok.
std::string Conclusion(const Row& row);

}  // namespace feedrate
