// Result files of the public benchmark as rows.
#ifndef FEEDRATE_LIB_ANALYSIS_IMPORT_ALBUMENTATIONS_H_
#define FEEDRATE_LIB_ANALYSIS_IMPORT_ALBUMENTATIONS_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lib/records/records.pb.h"

namespace feedrate {

// Calls `add` for each run in a result file: one row for each entry of
// `throughputs`, one for a transform that stopped early, failed or is
// unsupported. The median of a transform's rows is the median in the file.
//
// What the file does not know stays empty: parameters have no hash, so these
// rows never pass for runs of our own jobs, and the machine profile starts with
// `public:`, so they never mix with rows of our machines.
//
// InvalidArgument, with `name`, when it is no such file.
absl::Status ImportAlbumentations(
    const std::string& name, absl::string_view content,
    const std::function<absl::Status(const Row&)>& add);

// Whether a file of this name holds results; timer dumps and manifests do not.
bool IsAlbumentationsResult(absl::string_view path);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_IMPORT_ALBUMENTATIONS_H_
