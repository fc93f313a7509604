// The section of a report on jobs over many revisions.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "lib/draw/document.h"
#include "lib/gate/history.h"

namespace feedrate {

// InvalidArgument unless `url` is empty or a web address with `{commit}`.
absl::Status CheckCommitUrl(const std::string& url);

// Key numbers, the lasting changes, all jobs with their line (which the page
// draws large on request), and plots, those of jobs that changed first.
// Revisions link to `commit_url` if it is not empty. None if no series has two
// points.
absl::optional<Section> HistorySection(std::vector<HistorySeries> all,
                                       const std::string& commit_url);

}  // namespace feedrate
