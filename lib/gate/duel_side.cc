#include "lib/gate/duel_side.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "lib/records/job_id.h"
#include "lib/records/json_reader.h"

namespace feedrate {
namespace {

constexpr char kJobsPlace[] = "{jobs}";

Row IdentityRow(const std::string& name) {
  Job job;
  job.set_mode("command");
  (*job.mutable_settings())["name"] = name;
  Row row;
  row.set_job_id(JobId(job));
  row.set_mode(job.mode());
  *row.mutable_settings() = job.settings();
  row.set_unit("sample");
  row.set_timed_unit("item");
  return row;
}

}  // namespace

std::vector<Row> RowsIn(const std::string& output, int* broken) {
  std::vector<Row> rows;
  JsonReader reader;
  for (const absl::string_view line : absl::StrSplit(output, '\n')) {
    if (!absl::StartsWith(line, "{") ||
        !absl::StrContains(line, "\"record\"")) {
      continue;
    }
    const absl::StatusOr<std::string> record = reader.Open(line);
    Row row;
    if (!record.ok()) {
      ++*broken;
    } else if (*record == "row") {
      if (reader.Read(&row).ok() && !row.job_id().empty()) {
        rows.push_back(std::move(row));
      } else {
        ++*broken;
      }
    }
  }
  return rows;
}

std::string CommandWithJobs(const std::string& command,
                            const std::string& jobs_file) {
  const std::string flag =
      jobs_file.empty() ? "" : absl::StrCat("--jobs=", jobs_file);
  if (absl::StrContains(command, kJobsPlace)) {
    return absl::StrReplaceAll(command, {{kJobsPlace, flag}});
  }
  return flag.empty() ? command : absl::StrCat(command, " ", flag);
}

Row WallRow(const std::string& name, const ChildResult& result) {
  Row row = IdentityRow(name);
  row.set_status("ok");
  row.set_items(1);
  row.set_elapsed_s(result.wall_s);
  row.set_duration_s(result.wall_s);
  row.set_throughput(1 / result.wall_s);
  row.add_samples_s(result.wall_s);
  row.set_p50_s(result.wall_s);
  row.set_rss_peak_bytes(result.rss_peak_bytes);
  return row;
}

Row FailureRow(const std::string& name, const ChildResult& result) {
  Row row = IdentityRow(name);
  row.set_status(result.Status());
  row.set_reason(result.Reason());
  row.set_duration_s(result.wall_s);
  return row;
}

}  // namespace feedrate
