// Reads result files of the public Albumentations benchmark as rows.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lib/records/row.pb.h"

namespace feedrate {

// Calls `add` for each run in a result file: with one row per entry of
// `throughputs`, and with one row for a transform that stopped early, failed or
// is unsupported. The median of a transform's rows is the median in the file.
//
// A library, device or scenario that the file does not say is taken from
// `name`, its path, as the public benchmark does:
// `kornia_video_dev-cuda_results.json`. Other fields that the file does not
// have stay empty. Parameters have no hash, so these rows are never mistaken
// for runs of our own jobs. The machine profile starts with `public:`, so they
// never mix with rows of our machines.
//
// InvalidArgument, with `name`, if it is another kind of file or names no
// library.
absl::Status ImportAlbumentations(
    const std::string& name, absl::string_view content,
    const std::function<absl::Status(const Row&)>& add);

// Whether the name is that of a result file, not of a timer dump or manifest.
bool IsAlbumentationsResult(absl::string_view path);

}  // namespace feedrate
