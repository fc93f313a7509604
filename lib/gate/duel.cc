#include "lib/gate/duel.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "lib/base/files.h"
#include "lib/base/injected_slowdown.h"
#include "lib/base/status_macros.h"
#include "lib/gate/duel_side.h"
#include "lib/gate/fast_random.h"
#include "lib/gate/job_words.h"
#include "lib/gate/judge_pairs.h"
#include "lib/records/job_fields.h"
#include "lib/records/json_writer.h"

namespace feedrate {
namespace {

// A file with a name of its own that goes away with this.
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
    result_.rows = PairedRows(options.statistic);
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
        suspects_ = Suspects(look - 1);
        if (suspects_.empty()) break;
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

  // Learns what the commands print, warms them up, and finds the jobs that
  // are wanted, where only some are.
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
      words.push_back(JobWords(row));
      if (!IsWantedJob(options_.only, row.job_id(), words.back())) continue;
      suspects_.insert(row.job_id());
      known_rows_[row.job_id()].push_back(row);
    }
    if (suspects_.empty()) {
      return absl::NotFoundError(absl::StrCat("--only: no job is \"",
                                              options_.only, "\"; there are ",
                                              absl::StrJoin(words, ", ")));
    }
    return WriteJobs();
  }

  // Jobs that the look neither cleared nor convicted.
  std::set<std::string> Suspects(int look) {
    PairedOptions judging;
    judging.interest_percent = options_.interest_percent;
    const PairedDesign design = DesignOf(result_.rows, judging);
    std::set<std::string> suspects;
    for (const PairedJob& job : result_.rows.jobs()) {
      const std::vector<double> differences = job.Differences();
      if (differences.empty()) continue;
      if (!job.a_problems.empty() || !job.b_problems.empty()) continue;
      // Those that are out already have fewer pairs than the look.
      if (look > 0 && suspects_.count(job.job_id) == 0) continue;
      if (LookAt(differences, design, look).verdict ==
          PairedVerdict::kCannotTell) {
        suspects.insert(job.job_id);
      }
    }
    return suspects;
  }

  absl::Status WriteJobs() {
    uses_jobs_file_ = false;
    if (!prints_rows_ || reruns_all_) return absl::OkStatus();
    if (options_.only.empty() &&
        suspects_.size() == result_.rows.jobs().size()) {
      return absl::OkStatus();
    }
    std::string text;
    for (const std::string& id : suspects_) {
      Job job = JobOfRow(known_rows_[id][0]);
      for (const Row& row : known_rows_[id]) {
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
    return absl::StrCat(", ", suspects_.size(),
                        suspects_.size() == 1 ? " suspect" : " suspects");
  }

  // Runs a side once. Afterwards `rows_` has what it says, and `ended_` is
  // whether the duel is over.
  absl::Status RunSide(bool side_b, const std::string& what) {
    if (options_.progress) options_.progress(what);
    ChildSpec spec;
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
      // The same two processes as on the other side, next to no loop.
      spec.burn_percent = 1e-9;
    }
    spec.is_stopped = options_.is_stopped;
    const absl::Time started = absl::Now();
    ASSIGN_OR_RETURN(child_, RunChild(spec));
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
                           child_.Reason(), "); all of its jobs run again"));
        }
        return RunSide(side_b, what);
      }
      jobs_file_works_ = true;
    }
    const bool only_failed =
        options_.ignore_failure && child_.Status() == "failed";
    ended_ = !child_.ok() && !only_failed;
    return absl::OkStatus();
  }

  // Exit code 1 is the caller's mistake in every program of this project, and
  // what most others answer to a flag that they do not know.
  bool RefusesJobs() const {
    return rows_.empty() && child_.Status() == "failed" &&
           (WEXITSTATUS(child_.wait_status) == 1 ||
            WEXITSTATUS(child_.wait_status) == 2);
  }

  void ReadRows(bool side_b) {
    rows_.clear();
    int broken = 0;
    if (prints_rows_ || result_.runs == 1) {
      rows_ = RowsIn(child_.output, &broken);
    }
    if (broken > 0 && options_.warn) {
      options_.warn(absl::StrCat(side_b ? "B" : "A", " printed ", broken,
                                 broken == 1 ? " broken row" : " broken rows"));
    }
    if (!prints_rows_ && rows_.empty() && child_.Status() != "timeout" &&
        (child_.ok() || options_.ignore_failure)) {
      if (result_.runs > 1 || options_.timing == DuelTiming::kWall) {
        rows_.push_back(WallRow(name_, child_));
      }
    }
  }

  absl::Status WriteRow(bool side_b, int pair, int position, int look,
                        Row* row) {
    if (!suspects_.empty() && suspects_.count(row->job_id()) == 0) {
      return absl::OkStatus();
    }
    // Rows of the first run that has the job, to ask for the same again.
    const std::pair<int, bool> run{pair, side_b};
    if (options_.only.empty() &&
        first_runs_.emplace(row->job_id(), run).first->second == run) {
      known_rows_[row->job_id()].push_back(*row);
    }
    return Write(side_b, pair, position, look, row);
  }

  absl::Status Write(bool side_b, int pair, int position, int look, Row* row) {
    // As many as a side has of a job, so that no two are the same run.
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

  // A record of why the duel ended, and the exit code.
  absl::Status WriteFailure(bool side_b, int pair, int position, int look) {
    if (child_.stopped) {
      result_.exit_code = ExitCode::kInterrupted;
      return absl::OkStatus();
    }
    result_.exit_code = ExitCode::kRunFailed;
    result_.failure = absl::StrCat(side_b ? "B" : "A", " ", child_.Status(),
                                   ": ", child_.Reason());
    Row row = FailureRow(name_, child_);
    return Write(side_b, pair, position, look, &row);
  }

  const DuelOptions& options_;
  FastRandom random_;
  DuelResult result_;
  std::string name_;
  bool prints_rows_ = false;
  bool uses_jobs_file_ = false;
  // A command that ran with the file before is not asked whether it takes one.
  bool jobs_file_works_ = false;
  bool reruns_all_ = false;
  bool ended_ = false;
  TemporaryFile jobs_file_;
  // Jobs that go on. Empty in the first stage: all.
  std::set<std::string> suspects_;
  // Rows of a job's first run, and which that was (pair, side is B).
  std::map<std::string, std::vector<Row>> known_rows_;
  std::map<std::string, std::pair<int, bool>> first_runs_;
  std::map<std::pair<std::string, bool>, int> counts_;
  // Of the last run.
  ChildResult child_;
  std::vector<Row> rows_;
  std::string started_at_;
};

}  // namespace

absl::StatusOr<DuelResult> RunDuel(const DuelOptions& options) {
  return Dueller(options).Run();
}

}  // namespace feedrate
