// What a child is told about its job.
#ifndef FEEDRATE_LIB_RUNNER_PREPARE_COMMAND_H_
#define FEEDRATE_LIB_RUNNER_PREPARE_COMMAND_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/transforms.pb.h"
#include "lib/records/records.pb.h"
#include "lib/worker/message.h"

namespace feedrate {

// Libraries that are in no matrix: `null`, which does nothing, and `faulty`,
// which does what should not be done. They know their transforms by name, and
// get the job's settings as parameters.
bool IsTestLibrary(absl::string_view library);

// The transform of the catalogue that the job is about. NotFound names what is
// missing, and so does a job planned with other parameters than these.
absl::StatusOr<const Transform*> TransformOfJob(const Catalogue& catalogue,
                                                const Job& job);

absl::StatusOr<PrepareCommand> PrepareCommandOfJob(const Catalogue& catalogue,
                                                   const Job& job);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_PREPARE_COMMAND_H_
