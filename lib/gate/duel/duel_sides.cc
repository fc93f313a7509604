#include "lib/gate/duel/duel_sides.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "lib/imports/imports.h"
#include "lib/records/job.pb.h"
#include "lib/records/job_identity.h"
#include "lib/records/json.h"

namespace feedrate {

std::string Filled(
    const std::string& command,
    const std::vector<std::pair<std::string, std::string>>& values) {
  return absl::StrReplaceAll(command, values);
}

std::vector<DuelRound> RoundsOf(const std::string& a,
                                const std::vector<std::string>& candidates,
                                const DuelParameters& parameters) {
  std::vector<DuelRound> rounds(1);
  for (const auto& parameter : parameters) {
    std::vector<DuelRound> more;
    for (const DuelRound& round : rounds) {
      for (const std::string& value : parameter.second) {
        more.push_back(round);
        absl::StrAppend(&more.back().point, round.point.empty() ? "" : ", ",
                        parameter.first, "=", value);
        more.back().values.emplace_back(absl::StrCat("{", parameter.first, "}"),
                                        value);
      }
    }
    rounds = std::move(more);
  }
  for (DuelRound& round : rounds) {
    round.a = Filled(a, round.values);
    for (const std::string& candidate : candidates) {
      Contest contest;
      contest.set_a(round.a);
      contest.set_b(Filled(candidate, round.values));
      std::vector<std::string> words;
      if (!round.point.empty()) words.push_back(round.point);
      if (candidates.size() > 1) words.push_back(contest.b());
      contest.set_name(absl::StrJoin(words, ", "));
      round.contests.push_back(std::move(contest));
    }
  }
  return rounds;
}

absl::StatusOr<std::pair<std::string, std::vector<std::string>>> ParseParameter(
    const std::string& text) {
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(text, absl::MaxSplits('=', 1));
  std::vector<std::string> values =
      absl::StrSplit(parts.second, ',', absl::SkipEmpty());
  if (parts.first.empty() || values.empty() || parts.first == "jobs" ||
      parts.first == "seed" || parts.first == "side") {
    return absl::InvalidArgumentError(absl::StrCat(
        "--parameter: \"", text,
        "\" is not a name other than jobs, seed and side, and its values, such "
        "as n=1,2,4"));
  }
  return std::make_pair(parts.first, std::move(values));
}

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
  if (!DetectHarness(output).empty()) {
    // The duel itself knows which machine this is.
    Importer importer("", [&rows](const Row& row) {
      rows.push_back(row);
      rows.back().clear_machine_profile();
      return absl::OkStatus();
    });
    if (!importer.ReadText("output", output, false).ok()) ++*broken;
    return rows;
  }
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

bool IsRefusal(const TimedCommandResult& result) {
  return result.Status() == "failed" && (WEXITSTATUS(result.wait_status) == 1 ||
                                         WEXITSTATUS(result.wait_status) == 2);
}

double RunSeconds(const std::vector<Row>& rows, RunStatistic statistic) {
  double sum = 0;
  int count = 0;
  for (const Row& row : rows) {
    const absl::optional<double> log = RunLog(row, statistic);
    if (!log || row.library() == "null") continue;
    sum += *log;
    ++count;
  }
  return count == 0 ? 0 : std::exp(sum / count);
}

Row WallRow(const std::string& name, const TimedCommandResult& result) {
  Row row = IdentityRow(name);
  row.set_status("ok");
  row.set_items(1);
  row.set_elapsed_s(result.wall_s);
  row.set_duration_s(result.wall_s);
  row.set_throughput(1 / result.wall_s);
  row.add_samples_s(result.wall_s);
  row.set_p50_s(result.wall_s);
  row.set_rss_peak_bytes(result.rss_peak_bytes);
  *row.mutable_usage() = result.usage;
  if (result.energy_j) row.mutable_energy()->set_cpu_j(*result.energy_j);
  return row;
}

Row FailureRow(const std::string& name, const TimedCommandResult& result) {
  Row row = IdentityRow(name);
  row.set_status(result.Status());
  row.set_reason(result.Reason());
  row.set_duration_s(result.wall_s);
  return row;
}

}  // namespace feedrate
