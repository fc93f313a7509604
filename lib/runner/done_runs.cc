#include "lib/runner/done_runs.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"
#include "lib/records/record_io.h"
#include "lib/records/records.pb.h"

namespace feedrate {

absl::Status DoneRuns::Read(
    const std::vector<std::string>& files,
    const std::function<void(const std::string&)>& warn) {
  Row row;
  RecordReader reader(
      [&](absl::string_view record, JsonReader& json) -> absl::Status {
        if (record != "row") return absl::OkStatus();
        row.Clear();
        RETURN_IF_ERROR(json.Read(&row));
        int32_t& next = attempts_[{row.job_id(), row.run_index()}];
        next = std::max(next, row.attempt() + 1);
        const std::string version = version_of_(row.library());
        if (version.empty() || row.library_version().empty() ||
            row.library_version() == version) {
          existing_.Add(row);
        }
        return absl::OkStatus();
      },
      warn);
  for (const std::string& file : files) {
    RETURN_IF_ERROR(reader.ReadFile(file));
  }
  return absl::OkStatus();
}

int32_t DoneRuns::NextAttempt(const std::string& job_id,
                              int32_t run_index) const {
  const auto found = attempts_.find({job_id, run_index});
  return found == attempts_.end() ? 0 : found->second;
}

}  // namespace feedrate
