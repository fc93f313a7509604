#include "lib/gate/duel/duel.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "lib/base/files.h"
#include "lib/base/injected_slowdown.h"
#include "lib/base/status_macros.h"
#include "lib/draw/text.h"
#include "lib/gate/paired_rows.h"
#include "lib/gate/verdict/metric_verdicts.h"
#include "lib/gate/verdict/verdicts.h"
#include "lib/gate/xoshiro.h"
#include "lib/machine/energy.h"
#include "lib/machine/root.h"
#include "lib/records/job_identity.h"
#include "lib/records/json.h"

namespace feedrate {
namespace {

// A file with a unique name that is removed with this object.
class TemporaryFile {
 public:
  TemporaryFile() {
    const char* folder = std::getenv("TMPDIR");
    path_ =
        absl::StrCat(folder != nullptr ? folder : "/tmp", "/duel_jobs_XXXXXX");
    const int fd = mkstemp(&path_[0]);
    if (fd >= 0) close(fd);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { unlink(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class Dueller {
 public:
  explicit Dueller(const DuelOptions& options)
      : options_(options), random_(options.seed) {
    result_.rows = PairedRows(options.statistic, options.metrics);
    name_ = options.name.empty() ? options.a : options.name;
    prints_rows_ = options.timing == DuelTiming::kRows;
    reruns_all_ = options.rerun_all;
  }

  absl::StatusOr<DuelResult> Run() {
    RETURN_IF_ERROR(WriteHead());
    RETURN_IF_ERROR(Prepare());
    const int looks = static_cast<int>(options_.looks.size());
    for (int look = 0; look < looks && !ended_; ++look) {
      if (look > 0) {
        undecided_ = Suspects(look - 1);
        if (undecided_.empty()) break;
        RETURN_IF_ERROR(WriteJobs());
      }
      for (int pair = look == 0 ? 0 : options_.looks[look - 1];
           pair < options_.looks[look] && !ended_; ++pair) {
        RETURN_IF_ERROR(RunPair(look, pair));
      }
    }
    PairedOptions judging;
    judging.interest_percent = options_.interest_percent;
    result_.verdicts = JudgePairs(result_.rows, judging);
    return std::move(result_);
  }

 private:
  absl::Status WriteHead() {
    Duel duel;
    duel.set_a(options_.a);
    duel.set_b(options_.b);
    duel.set_seed(static_cast<int64_t>(options_.seed));
    for (const int look : options_.looks) duel.add_stages(look);
    duel.set_interest_percent(options_.interest_percent);
    duel.set_pinned_to(absl::StrJoin(options_.cpus, ","));
    duel.set_machine_profile(options_.machine_profile);
    result_.rows.Add(duel);
    return options_.write(duel);
  }

  // Finds out what the commands print, warms them up and, if only some jobs are
  // wanted, finds those.
  absl::Status Prepare() {
    const bool probes =
        options_.timing == DuelTiming::kAuto || !options_.only.empty();
    if (probes && !ended_) {
      RETURN_IF_ERROR(RunSide(false, "looking at what A prints"));
      if (ended_) return WriteFailure(false, -1, 0, 0);
      if (options_.timing != DuelTiming::kWall) prints_rows_ = !rows_.empty();
      if (options_.timing == DuelTiming::kRows && rows_.empty()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "--a: printed no rows; use --time=wall to time the command"));
      }
    }
    if (!options_.only.empty()) RETURN_IF_ERROR(ChooseJobs());
    if (prints_rows_) return absl::OkStatus();
    for (int i = 0; i < options_.warmup; ++i) {
      for (const bool side_b : {false, true}) {
        if (ended_ || (probes && i == 0 && !side_b)) continue;
        RETURN_IF_ERROR(RunSide(side_b, "warming up"));
        if (ended_) return WriteFailure(side_b, -1, 0, 0);
      }
    }
    return absl::OkStatus();
  }

  absl::Status ChooseJobs() {
    if (!prints_rows_) {
      return absl::InvalidArgumentError(
          "--only: the command prints no rows, so there is nothing to choose");
    }
    std::vector<std::string> words;
    for (const Row& row : rows_) {
      words.push_back(JobLabel(row));
      if (!IsWantedJob(options_.only, row.job_id(), words.back())) continue;
      undecided_.insert(row.job_id());
      first_rows_[row.job_id()].push_back(row);
    }
    if (undecided_.empty()) {
      return absl::NotFoundError(absl::StrCat("--only: no job is \"",
                                              options_.only, "\"; there are ",
                                              absl::StrJoin(words, ", ")));
    }
    return WriteJobs();
  }

  // Jobs without a verdict after the look.
  std::set<std::string> Suspects(int look) {
    PairedOptions judging;
    judging.interest_percent = options_.interest_percent;
    const PairedDesign design = DesignOf(result_.rows, judging);
    const PairedDesign metric_design = MetricDesignOf(result_.rows, design);
    std::set<std::string> suspects;
    for (const PairedJob& job : result_.rows.jobs()) {
      const std::vector<double> differences = job.Differences();
      if (differences.empty()) continue;
      if (!job.a_problems.empty() || !job.b_problems.empty()) continue;
      // Jobs that already have a verdict have fewer pairs than the look.
      if (look > 0 && undecided_.count(job.job_id) == 0) continue;
      if (IsUndecided(job, options_.metrics, design, metric_design, look)) {
        suspects.insert(job.job_id);
      }
    }
    return suspects;
  }

  absl::Status WriteJobs() {
    uses_jobs_file_ = false;
    if (!prints_rows_ || reruns_all_) return absl::OkStatus();
    if (options_.only.empty() &&
        undecided_.size() == result_.rows.jobs().size()) {
      return absl::OkStatus();
    }
    std::string text;
    for (const std::string& id : undecided_) {
      Job job = JobOfRow(first_rows_[id][0]);
      for (const Row& row : first_rows_[id]) {
        job.add_run_indexes(row.run_index());
      }
      AppendRecord(job, &text);
    }
    uses_jobs_file_ = true;
    return WriteFileAtomically(jobs_file_.path(), text);
  }

  absl::Status RunPair(int look, int pair) {
    const bool b_first = random_.Coin();
    for (int position = 0; position < 2 && !ended_; ++position) {
      const bool side_b = (position == 0) == b_first;
      RETURN_IF_ERROR(RunSide(
          side_b,
          absl::StrFormat("stage %d of %d, pair %d of %d, %s%s", look + 1,
                          options_.looks.size(), pair + 1, options_.looks[look],
                          side_b ? "B" : "A", SuspectsText(look))));
      for (Row& row : rows_) {
        RETURN_IF_ERROR(WriteRow(side_b, pair, position, look, &row));
      }
      if (ended_) {
        RETURN_IF_ERROR(WriteFailure(side_b, pair, position, look));
      } else if (rows_.empty()) {
        return absl::InvalidArgumentError(
            absl::StrCat(side_b ? "--b" : "--a", ": printed no rows in pair ",
                         pair, "; use --time=wall to time the command"));
      }
    }
    return absl::OkStatus();
  }

  std::string SuspectsText(int look) const {
    if (!prints_rows_ || look == 0) return "";
    return absl::StrCat(", ", undecided_.size(),
                        undecided_.size() == 1 ? " suspect" : " suspects");
  }

  // Runs a side once. Afterwards `rows_` holds its rows, and `ended_` tells
  // whether the duel is over.
  absl::Status RunSide(bool side_b, const std::string& what) {
    if (options_.progress) options_.progress(what);
    TimedCommand spec;
    spec.command = CommandWithJobs(side_b ? options_.b : options_.a,
                                   uses_jobs_file_ ? jobs_file_.path() : "");
    spec.shell = options_.shell;
    spec.cpus = options_.cpus;
    spec.timeout_s = options_.timeout_s;
    const bool may_print_rows =
        options_.timing == DuelTiming::kAuto && result_.runs == 0;
    spec.capture_output = prints_rows_ || may_print_rows;
    if (side_b && options_.slow_b_percent > 0) {
      if (prints_rows_) {
        spec.variables.push_back(
            absl::StrCat(kSlowdownVariable, "=", options_.slow_b_percent));
      } else {
        spec.burn_percent = options_.slow_b_percent;
      }
    } else if (options_.slow_b_percent > 0 && !prints_rows_) {
      // The same two processes as on the other side, with almost no loop.
      spec.burn_percent = 1e-9;
    }
    spec.is_stopped = options_.is_stopped;
    spec.energy = &energy_;
    const absl::Time started = absl::Now();
    ASSIGN_OR_RETURN(last_run_, RunTimedCommand(spec));
    ++result_.runs;
    started_at_ =
        absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", started, absl::UTCTimeZone());
    ReadRows(side_b);
    if (uses_jobs_file_ && !jobs_file_works_) {
      if (RefusesJobs()) {
        reruns_all_ = true;
        uses_jobs_file_ = false;
        if (options_.warn) {
          options_.warn(
              absl::StrCat(side_b ? "B" : "A", " does not take --jobs=FILE (",
                           last_run_.Reason(), "); all of its jobs run again"));
        }
        return RunSide(side_b, what);
      }
      jobs_file_works_ = true;
    }
    const bool only_failed =
        options_.ignore_failure && last_run_.Status() == "failed";
    ended_ = !last_run_.ok() && !only_failed;
    return absl::OkStatus();
  }

  // Exit code 1 is a usage error in all programs of this project, and most
  // others return it for unknown flags.
  bool RefusesJobs() const {
    return rows_.empty() && last_run_.Status() == "failed" &&
           (WEXITSTATUS(last_run_.wait_status) == 1 ||
            WEXITSTATUS(last_run_.wait_status) == 2);
  }

  void ReadRows(bool side_b) {
    rows_.clear();
    int broken = 0;
    if (prints_rows_ || result_.runs == 1) {
      rows_ = RowsIn(last_run_.output, &broken);
    }
    if (broken > 0 && options_.warn) {
      options_.warn(absl::StrCat(side_b ? "B" : "A", " printed ", broken,
                                 broken == 1 ? " broken row" : " broken rows"));
    }
    if (!prints_rows_ && rows_.empty() && last_run_.Status() != "timeout" &&
        (last_run_.ok() || options_.ignore_failure)) {
      if (result_.runs > 1 || options_.timing == DuelTiming::kWall) {
        rows_.push_back(WallRow(name_, last_run_));
      }
    }
  }

  absl::Status WriteRow(bool side_b, int pair, int position, int look,
                        Row* row) {
    if (!undecided_.empty() && undecided_.count(row->job_id()) == 0) {
      return absl::OkStatus();
    }
    // Rows of the first run with this job, to request the same again.
    const std::pair<int, bool> run{pair, side_b};
    if (options_.only.empty() &&
        first_runs_.emplace(row->job_id(), run).first->second == run) {
      first_rows_[row->job_id()].push_back(*row);
    }
    return Write(side_b, pair, position, look, row);
  }

  absl::Status Write(bool side_b, int pair, int position, int look, Row* row) {
    // One per row that a side has of a job, so that all run indexes differ.
    row->set_run_index(counts_[{row->job_id(), side_b}]++);
    row->mutable_pair()->set_index(std::max(0, pair));
    row->mutable_pair()->set_side(side_b ? "b" : "a");
    row->mutable_pair()->set_position(position);
    row->mutable_pair()->set_stage(look);
    if (row->started_at().empty()) row->set_started_at(started_at_);
    if (row->machine_profile().empty()) {
      row->set_machine_profile(options_.machine_profile);
    }
    if (row->env_id().empty()) row->set_env_id(options_.env_id);
    result_.rows.Add(*row);
    return options_.write(*row);
  }

  // Records why the duel ended, and sets the exit code.
  absl::Status WriteFailure(bool side_b, int pair, int position, int look) {
    if (last_run_.stopped) {
      result_.exit_code = ExitCode::kInterrupted;
      return absl::OkStatus();
    }
    result_.exit_code = ExitCode::kRunFailed;
    result_.failure = absl::StrCat(side_b ? "B" : "A", " ", last_run_.Status(),
                                   ": ", last_run_.Reason());
    Row row = FailureRow(name_, last_run_);
    return Write(side_b, pair, position, look, &row);
  }

  const DuelOptions& options_;
  Xoshiro256 random_;
  EnergyMeter energy_{Root("/"), nullptr};
  DuelResult result_;
  std::string name_;
  bool prints_rows_ = false;
  bool uses_jobs_file_ = false;
  // True once a command has run with a jobs file; it is not probed again.
  bool jobs_file_works_ = false;
  bool reruns_all_ = false;
  bool ended_ = false;
  TemporaryFile jobs_file_;
  // Jobs that go on. Empty (all jobs) in the first stage.
  std::set<std::string> undecided_;
  // Rows of each job's first run, and which run that was (pair, side is B).
  std::map<std::string, std::vector<Row>> first_rows_;
  std::map<std::string, std::pair<int, bool>> first_runs_;
  std::map<std::pair<std::string, bool>, int> counts_;
  // Results of the last run.
  TimedCommandResult last_run_;
  std::vector<Row> rows_;
  std::string started_at_;
};

}  // namespace

absl::StatusOr<DuelResult> RunDuel(const DuelOptions& options) {
  return Dueller(options).Run();
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

namespace {

std::string SideText(const char* side, const std::string& command,
                     const PairedJob& job, bool side_b) {
  std::vector<double> seconds;
  for (const auto& pair : job.pairs) {
    const PairSide& half = side_b ? pair.second.b : pair.second.a;
    if (half.rows > 0) seconds.push_back(std::exp(half.Log()));
  }
  if (seconds.empty()) return "";
  double mean = 0;
  for (const double s : seconds) mean += s / seconds.size();
  double squares = 0;
  for (const double s : seconds) squares += (s - mean) * (s - mean);
  const double n = seconds.size();
  const double sd = n > 1 ? std::sqrt(squares / (n - 1)) : 0;
  const auto range = std::minmax_element(seconds.begin(), seconds.end());
  return absl::StrFormat("%s: %s\n  mean ± σ  %s ± %s   range %s … %s   %s\n",
                         side, command, SecondsText(mean), SecondsText(sd),
                         SecondsText(*range.first), SecondsText(*range.second),
                         Sparkline(seconds));
}

std::string Comparison(const Verdict& verdict) {
  const std::string& word = verdict.verdict();
  if (!verdict.has_effect()) return absl::StrCat(word, ": ", verdict.reason());
  const bool is_about_time =
      std::count(verdict.codes().begin(), verdict.codes().end(), kCodeTime) > 0;
  const Effect& effect = verdict.effect();
  const std::string range = absl::StrFormat(
      "99%% sure of %+.2f%% to %+.2f%%, %d pairs", effect.low_percent(),
      effect.high_percent(), verdict.pairs());
  if (word == "slower" || word == "faster") {
    if (!is_about_time) {
      return absl::StrFormat("time %+.2f%% (%s)", effect.percent(), range);
    }
    return absl::StrFormat("B is %.2f%% %s than A (%s)",
                           std::abs(effect.percent()), word, range);
  }
  if (word == "same") {
    return absl::StrFormat("B is as fast as A, within %g%% (%s)",
                           verdict.interest_percent(), range);
  }
  std::string text =
      absl::StrFormat("cannot tell: %+.2f%% (%s)", effect.percent(), range);
  if (verdict.has_floor_percent()) {
    absl::StrAppendFormat(&text, "; less than %.1f%% cannot be seen here",
                          verdict.floor_percent());
  }
  return text;
}

std::string ManyJobs(const DuelResult& result) {
  Table table({"job", "verdict", "change", "99% interval", "pairs", ""},
              {Align::kLeft, Align::kLeft, Align::kRight, Align::kLeft,
               Align::kRight, Align::kLeft});
  int same = 0;
  for (const Verdict& verdict : result.verdicts) {
    if (verdict.verdict() == "same") {
      ++same;
      continue;
    }
    const Effect& effect = verdict.effect();
    const std::vector<double> changes(verdict.pair_percent().begin(),
                                      verdict.pair_percent().end());
    const bool has = verdict.has_effect();
    table.AddRow(
        {verdict.job(), verdict.verdict(),
         has ? absl::StrFormat("%+.2f%%", effect.percent()) : "",
         has ? absl::StrFormat("%+.2f%% … %+.2f%%", effect.low_percent(),
                               effect.high_percent())
             : verdict.reason(),
         absl::StrCat(verdict.pairs()), Sparkline(changes)});
  }
  return absl::StrCat(table.empty() ? "" : table.ToText(), same, " of ",
                      result.verdicts.size(), " jobs are the same\n");
}

}  // namespace

std::string DuelSummary(const DuelOptions& options, const DuelResult& result) {
  if (result.verdicts.empty()) return "";
  if (result.verdicts.size() > 1) return ManyJobs(result);
  const PairedJob& job = result.rows.jobs()[0];
  std::string text = absl::StrCat(SideText("A", options.a, job, false),
                                  SideText("B", options.b, job, true),
                                  Comparison(result.verdicts[0]), "\n");
  for (const MetricChange& change : result.verdicts[0].metrics()) {
    if (!HasMoved(change)) continue;
    absl::StrAppend(&text, MetricChangeText(change), "\n");
  }
  return text;
}

}  // namespace feedrate
