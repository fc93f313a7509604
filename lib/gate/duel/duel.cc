#include "lib/gate/duel/duel.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "lib/base/files.h"
#include "lib/base/private_folder.h"
#include "lib/base/status_macros.h"
#include "lib/base/xoshiro.h"
#include "lib/gate/duel/duel_sides.h"
#include "lib/gate/duel/run_gpu.h"
#include "lib/gate/duel/undecided_jobs.h"
#include "lib/gate/paired_rows.h"
#include "lib/gate/verdict/verdicts.h"
#include "lib/imports/imports.h"
#include "lib/machine/energy.h"
#include "lib/machine/reference_speed.h"
#include "lib/machine/root.h"
#include "lib/records/job_identity.h"
#include "lib/records/json.h"

namespace feedrate {
namespace {

// Runs of A in B's place: every second pair has one.
constexpr int kPairsPerControl = 2;
// Number of layouts that --relink may be asked for.
constexpr uint64_t kSeeds = 1 << 30;
// The environment grows by up to this many bytes, a page.
constexpr int kMaxPadding = 4096;

std::vector<std::string> CandidatesOf(const DuelOptions& options) {
  std::vector<std::string> candidates = options.more_b;
  candidates.insert(candidates.begin(), options.floor ? options.a : options.b);
  return candidates;
}

PairedOptions JudgingOf(const DuelOptions& options) {
  return {options.interest_percent, {}, /*are_own_records=*/true};
}

class Dueller {
 public:
  explicit Dueller(const DuelOptions& options)
      : options_(options),
        random_(options.seed),
        layout_random_(options.seed ^ 0x5eed),
        rounds_(
            RoundsOf(options.a, CandidatesOf(options), options.parameters)) {
    result_.rows = PairedRows(options.statistic, options.metrics);
    prints_rows_ = options.timing == DuelTiming::kRows;
    reruns_all_ = options.rerun_all;
    if (options.controls) reference_.emplace(ReferenceWork::Options());
    counts_allocations_ = NeedsAllocationCounter(options.metrics);
  }
  Dueller(const Dueller&) = delete;
  Dueller& operator=(const Dueller&) = delete;
  ~Dueller() {
    if (!jobs_file_.empty()) unlink(jobs_file_.c_str());
  }

  absl::StatusOr<DuelResult> Run() {
    RETURN_IF_ERROR(WriteHead());
    const absl::Status status = RunLooks();
    RunOnce("--cleanup", options_.cleanup);
    RETURN_IF_ERROR(status);
    result_.verdicts = JudgePairs(result_.rows, JudgingOf(options_));
    return std::move(result_);
  }

 private:
  // Who runs: the baseline (0), a candidate (from 1 on), or the baseline once
  // more as a control.
  static constexpr int kControl = -1;

  absl::Status RunLooks() {
    if (rounds_.empty()) return absl::OkStatus();
    RunOnce("--setup", options_.setup);
    RETURN_IF_ERROR(Prepare());
    const int looks = static_cast<int>(options_.looks.size());
    for (int look = 0; look < looks && !ended_; ++look) {
      if (look > 0) {
        undecided_ = undecided_.After(result_.rows, options_.metrics,
                                      JudgingOf(options_), look - 1);
        if (undecided_.empty()) break;
      }
      for (int pair = look == 0 ? 0 : options_.looks[look - 1];
           pair < options_.looks[look] && !ended_; ++pair) {
        for (const DuelRound& round : rounds_) {
          if (!ended_) RETURN_IF_ERROR(RunRound(round, look, pair));
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status WriteHead() {
    Duel duel = HeadOf(options_);
    const std::vector<Contest> contests = options_.skip_identical
                                              ? TakeOutIdentical(&rounds_)
                                              : ContestsOf(rounds_);
    if (contests.size() > 1 || contests[0].identical()) {
      *duel.mutable_contests() = {contests.begin(), contests.end()};
    }
    result_.rows.Add(duel);
    return options_.write(duel);
  }

  // Runs a command of the user that is not timed, once for each combination of
  // parameters in it. Ends the duel if it fails.
  void RunOnce(const std::string& flag, const std::string& command) {
    std::set<std::string> done;
    for (const DuelRound& round : rounds_) {
      const std::string filled = Filled(command, round.values);
      if (filled.empty() || !done.insert(filled).second) continue;
      // What --setup made is cleaned up after Ctrl-C and after failures too.
      if (ended_ && flag != "--cleanup") return;
      RunHelper(flag, filled);
    }
  }

  void RunHelper(const std::string& flag, const std::string& command) {
    TimedCommand spec;
    spec.command = command;
    spec.shell = options_.shell.empty() ? "/bin/sh" : options_.shell;
    spec.capture_output = false;
    if (flag != "--cleanup") spec.is_stopped = options_.is_stopped;
    const absl::StatusOr<TimedCommandResult> run = RunTimedCommand(spec);
    if (run.ok() && run->ok()) return;
    ended_ = true;
    const bool is_stopped = run.ok() && run->stopped;
    if (result_.exit_code != ExitCode::kDone) return;
    result_.exit_code =
        is_stopped ? ExitCode::kInterrupted : ExitCode::kRunFailed;
    if (is_stopped) return;
    result_.failure = absl::StrCat(
        flag, ": ",
        run.ok() ? run->Reason() : std::string(run.status().message()), ": ",
        command);
  }

  // Finds out what the commands print, warms them up and, if only some jobs are
  // wanted, finds those.
  absl::Status Prepare() {
    const bool probes =
        options_.timing == DuelTiming::kAuto || !options_.only.empty();
    for (const DuelRound& round : rounds_) {
      Relink(round, layout_random_.Below(kSeeds));
    }
    if (probes && !ended_) {
      RETURN_IF_ERROR(RunSide(rounds_[0], 0, "looking at what A prints"));
      if (ended_) return WriteFailure(rounds_[0], 0, -1, 0, 0);
      if (options_.timing != DuelTiming::kWall) prints_rows_ = !rows_.empty();
      if (options_.timing == DuelTiming::kRows && rows_.empty()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "--a: printed no rows; use --time=wall to time the command"));
      }
    }
    if (!options_.only.empty()) RETURN_IF_ERROR(ChooseJobs());
    if (prints_rows_) return absl::OkStatus();
    for (int i = 0; i < options_.warmup; ++i) {
      for (const DuelRound& round : rounds_) {
        const int sides = static_cast<int>(round.contests.size()) + 1;
        for (int who = 0; who < sides; ++who) {
          const bool is_probed =
              probes && i == 0 && who == 0 && &round == &rounds_[0];
          if (ended_ || is_probed) continue;
          if (options_.distrust != nullptr) options_.distrust->NextPair();
          RETURN_IF_ERROR(RunSide(round, who, "warming up"));
          if (ended_) return WriteFailure(round, who, -1, 0, 0);
        }
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
      for (const DuelRound& round : rounds_) {
        for (const Contest& contest : round.contests) {
          undecided_.Add(contest.name(), row.job_id());
        }
      }
      first_rows_[row.job_id()].push_back(row);
    }
    if (undecided_.empty()) {
      return absl::NotFoundError(absl::StrCat("--only: no job is \"",
                                              options_.only, "\"; there are ",
                                              absl::StrJoin(words, ", ")));
    }
    return absl::OkStatus();
  }

  // Tells the commands of a round which jobs to run, if not all of theirs.
  absl::Status WriteJobs(const DuelRound& round) {
    uses_jobs_file_ = false;
    if (!prints_rows_ || reruns_all_ || undecided_.empty() ||
        !options_.both.empty()) {
      return absl::OkStatus();
    }
    const std::set<std::string> wanted = undecided_.JobsOf(round.contests);
    if (options_.only.empty() &&
        wanted.size() == jobs_of_[round.point].size()) {
      return absl::OkStatus();
    }
    std::string text;
    for (const std::string& id : wanted) {
      Job job = JobOfRow(first_rows_[id][0]);
      for (const Row& row : first_rows_[id]) {
        job.add_run_indexes(row.run_index());
      }
      AppendRecord(job, &text);
    }
    if (jobs_file_.empty()) {
      ASSIGN_OR_RETURN(jobs_file_, MakeTemporaryFile("duel_jobs"));
    }
    uses_jobs_file_ = true;
    return WriteFileAtomically(jobs_file_, text);
  }

  // The baseline and all candidates that go on, in random order.
  std::vector<int> Order(const DuelRound& round, int pair) {
    std::vector<int> order = {0};
    for (size_t i = 0; i < round.contests.size(); ++i) {
      if (undecided_.GoesOn(round.contests[i]))
        order.push_back(static_cast<int>(i) + 1);
    }
    if (order.size() == 1) return {};
    if (options_.controls && pair % kPairsPerControl == 0) {
      order.push_back(kControl);
    }
    if (order.size() == 2) {
      if (random_.Coin()) std::swap(order[0], order[1]);
      return order;
    }
    for (size_t i = order.size() - 1; i > 0; --i) {
      std::swap(order[i], order[random_.Below(i + 1)]);
    }
    return order;
  }

  absl::Status RunRound(const DuelRound& round, int look, int pair) {
    if (!std::any_of(
            round.contests.begin(), round.contests.end(),
            [this](const Contest& c) { return undecided_.GoesOn(c); })) {
      return absl::OkStatus();
    }
    RETURN_IF_ERROR(WriteJobs(round));
    if (options_.distrust != nullptr) options_.distrust->NextPair();
    padding_ = options_.vary_environment
                   ? static_cast<int>(layout_random_.Below(kMaxPadding))
                   : -1;
    if (options_.floor) {
      const std::vector<int> order = Order(round, 1);
      const uint64_t seed = layout_random_.Below(kSeeds);
      for (const int who : order) {
        Relink(round,
               HasSameLayouts(pair) ? seed : layout_random_.Below(kSeeds));
        for (int run = 0; run < options_.runs_per_layout && !ended_; ++run) {
          RETURN_IF_ERROR(RunTurn(round, who, order, look, pair));
        }
      }
      return absl::OkStatus();
    }
    Relink(round, layout_random_.Below(kSeeds));
    for (int run = 0; run < options_.runs_per_layout; ++run) {
      const std::vector<int> order = Order(round, pair);
      for (const int who : order) {
        if (!ended_) RETURN_IF_ERROR(RunTurn(round, who, order, look, pair));
      }
    }
    return WriteControls();
  }

  // Gives the programs of a round another layout: A the one of `seed`.
  void Relink(const DuelRound& round, uint64_t seed) {
    if (options_.relink.empty()) return;
    const bool has_sides = absl::StrContains(options_.relink, "{side}");
    for (const char* side : {"a", "b"}) {
      if (ended_ || (side[0] == 'b' && (!has_sides || options_.floor))) return;
      auto values = round.values;
      if (side[0] == 'b') seed = layout_random_.Below(kSeeds);
      values.emplace_back("{seed}", absl::StrCat(seed));
      values.emplace_back("{side}", side);
      RunHelper("--relink", Filled(options_.relink, values));
    }
  }

  absl::Status RunTurn(const DuelRound& round, int who,
                       const std::vector<int>& order, int look, int pair) {
    if (!options_.prepare.empty()) {
      auto values = round.values;
      values.emplace_back("{side}", who > 0 ? "b" : "a");
      RunHelper("--prepare", Filled(options_.prepare, values));
      if (ended_) return absl::OkStatus();
    }
    RETURN_IF_ERROR(RunSide(
        round, who,
        absl::StrFormat("stage %d of %d, pair %d of %d, %s%s", look + 1,
                        options_.looks.size(), pair + 1, options_.looks[look],
                        SideName(who), SuspectsText(look))));
    const auto place = [&order](int player) {
      return std::find(order.begin(), order.end(), player) - order.begin();
    };
    if (who == kControl) {
      if (ended_) return WriteFailure(round, 0, pair, 0, look);
      AddControl("A/A", "", true, pair, RunSeconds(rows_, options_.statistic));
      return absl::OkStatus();
    }
    const bool has_control = place(kControl) < static_cast<int>(order.size());
    if (who == 0 && has_control && !ended_) {
      AddControl("A/A", "", false, pair, RunSeconds(rows_, options_.statistic));
    }
    RememberRows(round);
    std::vector<ReferenceWork::Time> references;
    if (reference_ && !ended_) {
      references = reference_->TimeSecondPasses(options_.cpus);
    }
    for (int other = 1; other <= static_cast<int>(round.contests.size());
         ++other) {
      const Contest& contest = round.contests[other - 1];
      if ((who > 0 && who != other) || !undecided_.GoesOn(contest)) continue;
      const int position = place(who) > place(who > 0 ? 0 : other) ? 1 : 0;
      for (const Row& row : rows_) {
        if (!undecided_.Has(contest, row.job_id())) continue;
        Row copy = row;
        RETURN_IF_ERROR(Write(contest, who > 0, pair, position, look, &copy));
      }
      for (const ReferenceWork::Time& reference : references) {
        AddControl(reference.workload, contest.name(), who > 0, pair,
                   reference.seconds);
      }
      if (ended_) return WriteFailure(round, who, pair, position, look);
    }
    if (rows_.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(who > 0 ? "--b" : "--a", ": printed no rows in pair ",
                       pair, "; use --time=wall to time the command"));
    }
    if (options_.floor) {
      result_.layout_logs[pair * 2 + (who > 0 ? 1 : 0)].push_back(
          std::log(RunSeconds(rows_, options_.statistic)));
    }
    return absl::OkStatus();
  }

  std::string SideName(int who) const {
    if (who == kControl) return "A as a control";
    if (who == 0) return "A";
    return options_.more_b.empty() ? "B" : absl::StrCat("B", who);
  }

  void AddControl(const std::string& name, const std::string& contest,
                  bool side_b, int pair, double seconds) {
    controls_.push_back(ControlOf(name, contest, side_b, pair, seconds));
    result_.rows.Add(controls_.back());
  }

  // Controls follow the rows of their round. The row of a failure is the last.
  absl::Status WriteControls() {
    if (ended_) return absl::OkStatus();
    for (const Control& control : controls_) {
      RETURN_IF_ERROR(options_.write(control));
    }
    controls_.clear();
    return absl::OkStatus();
  }

  std::string SuspectsText(int look) const {
    if (!prints_rows_ || look == 0) return "";
    return absl::StrCat(", ", undecided_.size(),
                        undecided_.size() == 1 ? " suspect" : " suspects");
  }

  // Runs a side once. Afterwards `rows_` holds its rows, and `ended_` tells
  // whether the duel is over.
  absl::Status RunSide(const DuelRound& round, int who,
                       const std::string& what) {
    if (options_.progress) options_.progress(what);
    const bool side_b = who > 0;
    TimedCommand spec = CommandOfSide(options_, side_b, prints_rows_, padding_);
    spec.command =
        CommandWithJobs(side_b ? round.contests[who - 1].b() : round.a,
                        uses_jobs_file_ ? jobs_file_ : "");
    spec.capture_output =
        prints_rows_ ||
        (options_.timing == DuelTiming::kAuto && result_.runs == 0);
    if (gpu_ != nullptr) {
      gpu_->Start();
      spec.is_stopped = [this] {
        gpu_->Look();
        return options_.is_stopped && options_.is_stopped();
      };
    }
    spec.energy = &energy_;
    if (counts_allocations_ && !prints_rows_) {
      if (allocations_ == nullptr) {
        ASSIGN_OR_RETURN(allocations_, AllocationCounter::Make());
      }
      spec.allocations = allocations_.get();
    }
    Distrust* const distrust = options_.distrust;
    if (distrust != nullptr) RETURN_IF_ERROR(distrust->Prepare(&spec));
    const absl::Time started = absl::Now();
    if (options_.both.empty()) {
      ASSIGN_OR_RETURN(last_run_, RunTimedCommand(spec));
    } else {
      RETURN_IF_ERROR(AskBoth(round, side_b, std::move(spec)));
    }
    if (distrust != nullptr) distrust->Check(&last_run_);
    ++result_.runs;
    started_at_ =
        absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", started, absl::UTCTimeZone());
    if (!last_run_.uncounted_reason.empty() && last_run_.ok()) {
      // Once: with one side that is not counted there is nothing to compare.
      counts_allocations_ = false;
      if (options_.warn) {
        options_.warn(
            absl::StrCat("--metrics: allocations of ", SideName(who),
                         " are not counted: ", last_run_.uncounted_reason));
      }
    }
    RETURN_IF_ERROR(ReadRows(round, side_b));
    if (gpu_ != nullptr) gpu_->Finish(&rows_);
    if (uses_jobs_file_ && !jobs_file_works_) {
      if (rows_.empty() && IsRefusal(last_run_)) {
        reruns_all_ = true;
        uses_jobs_file_ = false;
        if (options_.warn) {
          options_.warn(
              absl::StrCat(side_b ? "B" : "A", " does not take --jobs=FILE (",
                           last_run_.Reason(), "); all of its jobs run again"));
        }
        return RunSide(round, who, what);
      }
      jobs_file_works_ = true;
    }
    ended_ = !last_run_.ok() &&
             !(options_.ignore_failure && last_run_.Status() == "failed");
    return absl::OkStatus();
  }

  // A run of the program that has both sides. Starts it first.
  absl::Status AskBoth(const DuelRound& round, bool side_b, TimedCommand spec) {
    if (both_ == nullptr) {
      spec.command = options_.both;
      ASSIGN_OR_RETURN(both_, LiveCommand::Start(spec));
    }
    std::string question = side_b ? "b" : "a";
    if (!undecided_.empty()) {
      absl::StrAppend(&question, " ",
                      absl::StrJoin(undecided_.JobsOf(round.contests), " "));
    }
    last_run_ = both_->Ask(question);
    return absl::OkStatus();
  }

  absl::Status ReadRows(const DuelRound& round, bool side_b) {
    rows_.clear();
    if (prints_rows_ || (result_.runs == 1 && options_.distrust == nullptr)) {
      std::string refused;
      absl::StatusOr<std::vector<Row>> rows =
          RowsIn(last_run_.output, &refused);
      // A side that failed has a better reason.
      if (!(rows.ok() && refused.empty()) && last_run_.ok()) {
        return absl::InvalidArgumentError(absl::StrCat(
            side_b ? "--b" : "--a", ": the results that it prints: ",
            rows.ok() ? refused : rows.status().message(),
            "; if these are no results, time the command with --time=wall"));
      }
      if (rows.ok()) rows_ = *std::move(rows);
      // Other harnesses do not take --jobs=FILE.
      reruns_all_ |= !rows_.empty() && IsImported(rows_[0]);
    }
    if (!prints_rows_ && rows_.empty() && last_run_.Status() != "timeout" &&
        (last_run_.ok() || options_.ignore_failure)) {
      if (result_.runs > 1 || options_.timing == DuelTiming::kWall) {
        rows_.push_back(WallRow(NameOf(round), last_run_));
        if (options_.distrust != nullptr) options_.distrust->Mark(&rows_[0]);
      }
    }
    return absl::OkStatus();
  }

  std::string NameOf(const DuelRound& round) const {
    return options_.name.empty() ? round.a : options_.name;
  }

  // Keeps the rows of each job's first run, to request the same again.
  void RememberRows(const DuelRound& round) {
    for (const Row& row : rows_) {
      jobs_of_[round.point].insert(row.job_id());
      if (options_.only.empty() &&
          first_runs_.emplace(row.job_id(), result_.runs).first->second ==
              result_.runs) {
        first_rows_[row.job_id()].push_back(row);
      }
    }
  }

  absl::Status Write(const Contest& contest, bool side_b, int pair,
                     int position, int look, Row* row) {
    // One per row that a side has of a job, so that all run indexes differ.
    row->set_run_index(
        counts_[{absl::StrCat(contest.name(), "\n", row->job_id()), side_b}]++);
    *row->mutable_pair() = PairOf(contest.name(), side_b, std::max(0, pair));
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
  absl::Status WriteFailure(const DuelRound& round, int who, int pair,
                            int position, int look) {
    if (last_run_.stopped) {
      result_.exit_code = ExitCode::kInterrupted;
      return absl::OkStatus();
    }
    result_.exit_code = ExitCode::kRunFailed;
    result_.failure = absl::StrCat(SideName(who), " ", last_run_.Status(), ": ",
                                   last_run_.Reason());
    Row row = FailureRow(NameOf(round), last_run_);
    if (options_.distrust != nullptr) options_.distrust->Mark(&row);
    return Write(round.contests[who > 0 ? who - 1 : 0], who > 0, pair, position,
                 look, &row);
  }

  const DuelOptions& options_;
  Xoshiro256 random_;
  EnergyMeter energy_{Root("/"), nullptr};
  // Null without a GPU.
  std::unique_ptr<RunGpu> gpu_ = RunGpu::Open(options_.gpu_libraries);
  // Null without `both`, and before its first run.
  std::unique_ptr<LiveCommand> both_;
  bool counts_allocations_ = false;
  // Null until it is needed.
  std::unique_ptr<AllocationCounter> allocations_;
  // Draws layouts, so that these do not change the order of runs.
  Xoshiro256 layout_random_;
  std::vector<DuelRound> rounds_;
  DuelResult result_;
  absl::optional<ReferenceWork> reference_;
  // Bytes that the environment has more in this pair. Below 0: unchanged.
  int padding_ = -1;
  bool prints_rows_ = false;
  bool uses_jobs_file_ = false;
  // True once a command has run with a jobs file; it is not probed again.
  bool jobs_file_works_ = false;
  bool reruns_all_ = false;
  bool ended_ = false;
  // Empty until it is needed. Removed with this object.
  std::string jobs_file_;
  UndecidedJobs undecided_;
  // Jobs of each round, by point.
  std::map<std::string, std::set<std::string>> jobs_of_;
  // Rows of each job's first run, and the number of that run.
  std::map<std::string, std::vector<Row>> first_rows_;
  std::map<std::string, int64_t> first_runs_;
  std::map<std::pair<std::string, bool>, int> counts_;
  // Controls of this round.
  std::vector<Control> controls_;
  // Results of the last run.
  TimedCommandResult last_run_;
  std::vector<Row> rows_;
  std::string started_at_;
};

}  // namespace

absl::StatusOr<DuelResult> RunDuel(const DuelOptions& options) {
  return Dueller(options).Run();
}

}  // namespace feedrate
