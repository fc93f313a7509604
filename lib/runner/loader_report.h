// What rows of loaders say beyond their throughput, for a person.
#ifndef FEEDRATE_LIB_RUNNER_LOADER_REPORT_H_
#define FEEDRATE_LIB_RUNNER_LOADER_REPORT_H_

#include <string>

#include "lib/records/records.pb.h"

namespace feedrate {

// Where the time of a row went: stages, epochs with parts left out, and the
// verdict. Empty when the row has no diagnosis.
std::string DiagnosisText(const Row& row);

// How busy the training step kept the accelerator, and whether that is enough
// for MLPerf Storage. Empty without a step.
std::string UtilisationText(const Row& row);

// Items that were left out, and the first of them. Empty without any.
std::string FaultsText(const Row& row);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_LOADER_REPORT_H_
