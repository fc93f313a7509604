#include "lib/gate/duel/bisect.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "lib/base/files.h"
#include "lib/base/private_folder.h"
#include "lib/base/status_macros.h"
#include "lib/base/xoshiro.h"
#include "lib/draw/text.h"
#include "lib/gate/history.h"
#include "lib/gate/paired_rows.h"
#include "lib/machine/git_state.h"
#include "lib/stats/bisection.h"
#include "lib/stats/summary.h"

namespace feedrate {
namespace {

constexpr double kCredible = 0.99;
const absl::Duration kGitLimit = absl::Minutes(10);

absl::StatusOr<std::string> Git(const std::string& repository,
                                std::vector<std::string> words) {
  words.insert(words.begin(), {"git", "-C", repository});
  return RunCommand(words, kGitLimit);
}

absl::StatusOr<std::string> Resolve(const std::string& repository,
                                    const char* flag,
                                    const std::string& revision) {
  const absl::StatusOr<std::string> hash =
      Git(repository, {"rev-parse", "--verify", "--quiet", "--end-of-options",
                       absl::StrCat(revision, "^{commit}")});
  if (hash.ok()) return std::string(absl::StripAsciiWhitespace(*hash));
  return absl::InvalidArgumentError(absl::StrCat(
      flag, ": \"", revision, "\" is not a commit of the repository ",
      repository, "; see `git log --oneline`"));
}

// The worktrees of a search. A temporary folder is removed with them.
class Worktrees {
 public:
  Worktrees(std::string repository, std::string folder)
      : repository_(std::move(repository)),
        folder_(std::move(folder)),
        is_temporary_(folder_.empty()) {}
  Worktrees(const Worktrees&) = delete;
  Worktrees& operator=(const Worktrees&) = delete;

  ~Worktrees() {
    if (!is_temporary_ || folder_.empty()) return;
    for (const std::string& path : paths_) {
      (void)Git(repository_, {"worktree", "remove", "--force", path});
      unlink(MarkOf(path).c_str());
    }
    rmdir(folder_.c_str());
  }

  // Fails if the folder cannot be made.
  absl::Status Open() {
    if (!is_temporary_) {
      // What is built there will be run.
      RETURN_IF_ERROR(MakePrivateFolder(folder_));
      char* path = realpath(folder_.c_str(), nullptr);
      if (path == nullptr) return absl::NotFoundError(folder_);
      folder_ = path;
      free(path);
      return absl::OkStatus();
    }
    absl::StatusOr<std::string> folder = MakeTemporaryFolder("duel_bisect");
    if (folder.ok()) {
      folder_ = *std::move(folder);
      return absl::OkStatus();
    }
    return absl::UnavailableError(
        absl::StrCat(folder.status().message(),
                     ", or name a folder for worktrees with --worktrees"));
  }

  // The worktree of a commit, made if there is none.
  absl::StatusOr<std::string> Of(const std::string& commit) {
    const std::string path = JoinPath(folder_, commit);
    paths_.push_back(path);
    if (IsFolder(path)) return path;
    RETURN_IF_ERROR(Git(repository_, {"worktree", "add", "--force", "--detach",
                                      path, commit})
                        .status());
    return path;
  }

  // Whether `build` succeeded in this worktree before.
  static bool IsBuilt(const std::string& path, const std::string& build) {
    const absl::StatusOr<std::string> built = ReadFile(MarkOf(path));
    return built.ok() && *built == build;
  }
  static absl::Status SetBuilt(const std::string& path,
                               const std::string& build) {
    return WriteFileAtomically(MarkOf(path), build);
  }

 private:
  static std::string MarkOf(const std::string& path) {
    return absl::StrCat(path, ".built");
  }

  const std::string repository_;
  std::string folder_;
  const bool is_temporary_;
  std::vector<std::string> paths_;
};

struct Commit {
  std::string hash;
  std::string subject;
  // The worktree, once it is built.
  std::string folder;
  std::string problem;
};

class Bisector {
 public:
  explicit Bisector(const BisectOptions& options)
      : options_(options),
        worktrees_(options.repository, options.worktrees),
        random_(options.duel.seed),
        prints_rows_(options.duel.timing == DuelTiming::kRows),
        is_timing_known_(options.duel.timing != DuelTiming::kAuto) {}

  absl::StatusOr<BisectResult> Run() {
    RETURN_IF_ERROR(ReadCommits());
    RETURN_IF_ERROR(worktrees_.Open());
    BisectionOptions model;
    model.commits = static_cast<int>(commits_.size()) - 1;
    model.confidence = options_.confidence;
    model.max_pairs = options_.duel.looks.back();
    model.interest_percent = options_.duel.interest_percent;
    BisectionSearch search(model);
    for (const int end : {0, model.commits}) {
      RETURN_IF_ERROR(Prepare(end));
      if (stopped_) return Stopped();
      if (!commits_[end].problem.empty()) return EndFailed(end);
    }
    while (search.state() == BisectionSearch::State::kSearching) {
      const int next = search.next();
      RETURN_IF_ERROR(Prepare(next));
      double difference = 0;
      if (commits_[next].problem.empty()) {
        Say(search, next);
        ASSIGN_OR_RETURN(difference, MeasurePair(next));
      }
      if (stopped_) return Stopped();
      if (!commits_[0].problem.empty()) return EndFailed(0);
      if (commits_[next].problem.empty()) {
        search.Add(next, difference);
        continue;
      }
      if (next == model.commits) return EndFailed(next);
      Warn(absl::StrCat("skips ", ShortRevision(commits_[next].hash), ": ",
                        commits_[next].problem));
      search.Exclude(next);
    }
    FillAnswer(search);
    return std::move(result_);
  }

 private:
  absl::Status ReadCommits() {
    const std::string& repository = options_.repository;
    if (!Git(repository, {"rev-parse", "--git-dir"}).ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--repository: ", repository,
                       " is not a git repository, or git is not installed"));
    }
    Bisection& bisection = result_.bisection;
    ASSIGN_OR_RETURN(*bisection.mutable_good(),
                     Resolve(repository, "--good", options_.good));
    ASSIGN_OR_RETURN(*bisection.mutable_bad(),
                     Resolve(repository, "--bad", options_.bad));
    const std::string& good = bisection.good();
    const std::string& bad = bisection.bad();
    if (good == bad ||
        !Git(repository, {"merge-base", "--is-ancestor", good, bad}).ok()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--good: ", options_.good, " is not before --bad=", options_.bad));
    }
    ASSIGN_OR_RETURN(
        const std::string log,
        Git(repository, {"log", "--reverse", "--first-parent", "--format=%H %s",
                         absl::StrCat(good, "..", bad)}));
    ASSIGN_OR_RETURN(const std::string first,
                     Git(repository, {"log", "-1", "--format=%H %s", good}));
    for (const absl::string_view line :
         absl::StrSplit(absl::StrCat(first, log), '\n', absl::SkipEmpty())) {
      const std::pair<std::string, std::string> parts =
          absl::StrSplit(line, absl::MaxSplits(' ', 1));
      commits_.push_back({parts.first, parts.second, "", ""});
    }
    bisection.set_command(options_.command);
    bisection.set_commits(static_cast<int64_t>(commits_.size()) - 1);
    bisection.set_machine_profile(options_.duel.machine_profile);
    return absl::OkStatus();
  }

  TimedCommand SpecOf(const std::string& command, const Commit& commit) const {
    TimedCommand spec;
    spec.command = command;
    spec.shell = options_.duel.shell;
    spec.folder = commit.folder;
    spec.is_stopped = options_.duel.is_stopped;
    return spec;
  }

  // Builds a commit and warms it up. Sets its `problem` if that fails.
  absl::Status Prepare(int index) {
    Commit& commit = commits_[index];
    if (!commit.folder.empty() || !commit.problem.empty()) {
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const std::string folder, worktrees_.Of(commit.hash));
    commit.folder = folder;
    if (!options_.build.empty() &&
        !Worktrees::IsBuilt(folder, options_.build)) {
      Progress(absl::StrCat("building ", ShortRevision(commit.hash)));
      TimedCommand spec = SpecOf(options_.build, commit);
      if (spec.shell.empty()) spec.shell = "/bin/sh";
      spec.capture_output = false;
      ASSIGN_OR_RETURN(const TimedCommandResult built, RunTimedCommand(spec));
      stopped_ |= built.stopped;
      result_.bisection.set_builds(result_.bisection.builds() + 1);
      if (!built.ok()) {
        commit.problem =
            absl::StrCat("the build ", built.Status(), ": ", built.Reason());
        return absl::OkStatus();
      }
      RETURN_IF_ERROR(Worktrees::SetBuilt(folder, options_.build));
    }
    const int warmups = is_timing_known_
                            ? (prints_rows_ ? 0 : options_.duel.warmup)
                            : std::max(1, options_.duel.warmup);
    for (int i = 0; i < warmups && commit.problem.empty() && !stopped_; ++i) {
      Progress(absl::StrCat("warming up ", ShortRevision(commit.hash)));
      RETURN_IF_ERROR(Measure(index).status());
    }
    return absl::OkStatus();
  }

  // The logarithm of the time of one run. Sets the commit's `problem` if it
  // fails.
  absl::StatusOr<double> Measure(int index) {
    Commit& commit = commits_[index];
    TimedCommand spec = SpecOf(options_.command, commit);
    spec.cpus = options_.duel.cpus;
    spec.timeout_s = options_.duel.timeout_s;
    spec.capture_output = prints_rows_ || !is_timing_known_;
    ASSIGN_OR_RETURN(const TimedCommandResult run, RunTimedCommand(spec));
    result_.bisection.set_runs(result_.bisection.runs() + 1);
    stopped_ |= run.stopped;
    const bool only_failed =
        options_.duel.ignore_failure && run.Status() == "failed";
    if (!run.ok() && !only_failed) {
      commit.problem =
          absl::StrCat("the command ", run.Status(), ": ", run.Reason());
      return 0;
    }
    std::vector<Row> rows;
    if (spec.capture_output) {
      std::string refused;
      absl::StatusOr<std::vector<Row>> read = RowsIn(run.output, &refused);
      if (!read.ok() || !refused.empty()) {
        commit.problem =
            absl::StrCat("the results that the command prints: ",
                         read.ok() ? refused : read.status().message());
        return 0;
      }
      rows = *std::move(read);
    }
    if (!is_timing_known_) prints_rows_ = !rows.empty();
    is_timing_known_ = true;
    return prints_rows_ ? TimeOfRows(rows, &commit) : std::log(run.wall_s);
  }

  absl::StatusOr<double> TimeOfRows(const std::vector<Row>& rows,
                                    Commit* commit) const {
    double sum = 0;
    int count = 0;
    std::set<std::string> labels;
    for (const Row& row : rows) {
      const std::string label = JobLabel(row);
      const auto log = RunLog(row, options_.duel.statistic);
      if (!IsWantedJob(options_.duel.only, row.job_id(), label)) continue;
      if (!log) continue;
      labels.insert(label);
      sum += *log;
      ++count;
    }
    if (labels.size() > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("--only: the command prints rows of ", labels.size(),
                       " jobs; choose one of ", absl::StrJoin(labels, ", ")));
    }
    if (count == 0) {
      commit->problem = "the command printed no row of the job with a time";
      return 0;
    }
    return sum / count;
  }

  // The difference of a pair with the good commit.
  absl::StatusOr<double> MeasurePair(int index) {
    const bool good_first = random_.Coin();
    double good = 0;
    double other = 0;
    for (int position = 0; position < 2 && !stopped_; ++position) {
      const bool is_good = (position == 0) == good_first;
      ASSIGN_OR_RETURN((is_good ? good : other), Measure(is_good ? 0 : index));
    }
    return other - good;
  }

  void Progress(const std::string& text) {
    if (options_.duel.progress) options_.duel.progress(text);
  }
  void Warn(const std::string& text) {
    if (options_.duel.warn) options_.duel.warn(text);
  }

  void Say(const BisectionSearch& search, int next) {
    const double best = search.answer().probability;
    Progress(absl::StrFormat(
        "%d commits, pair %d with %s%s", commits_.size() - 1,
        search.differences(next).size() + 1, ShortRevision(commits_[next].hash),
        best > 0 ? absl::StrFormat(", best answer %.0f%%", 100 * best) : ""));
  }

  BisectResult Stopped() {
    result_.exit_code = ExitCode::kInterrupted;
    return std::move(result_);
  }

  BisectResult EndFailed(int index) {
    result_.exit_code = ExitCode::kRunFailed;
    result_.failure = absl::StrCat(index == 0 ? "--good" : "--bad", ": ",
                                   commits_[index].problem);
    return std::move(result_);
  }

  static void SetEffect(const std::vector<double>& pairs, Effect* effect) {
    const Location location = LocationOf(pairs, kConfidence);
    effect->set_percent(PercentOfLog(location.estimate));
    if (!location.interval) return;
    effect->set_low_percent(PercentOfLog(location.interval->low));
    effect->set_high_percent(PercentOfLog(location.interval->high));
    effect->set_confidence(kConfidence);
  }

  void FillAnswer(const BisectionSearch& search) {
    Bisection& bisection = result_.bisection;
    const int n = static_cast<int>(commits_.size()) - 1;
    const BisectionSearch::Answer& answer = search.answer();
    const bool has_started = answer.probability > 0;
    SetEffect(search.differences(n), bisection.mutable_effect());
    bisection.set_pairs(search.pairs());
    if (has_started) bisection.set_probability(answer.probability);
    std::set<int> candidates;
    if (has_started) {
      for (const int c : search.CredibleSet(kCredible)) candidates.insert(c);
    }
    for (int c = 1; c <= n; ++c) {
      const std::vector<double>& pairs = search.differences(c);
      if (pairs.empty() && candidates.count(c) == 0 &&
          commits_[c].problem.empty()) {
        continue;
      }
      BisectionCommit* one = bisection.add_evidence();
      one->set_commit(commits_[c].hash);
      one->set_subject(commits_[c].subject);
      one->set_probability(has_started ? search.probabilities()[c] : 0);
      one->set_is_candidate(candidates.count(c) > 0);
      one->set_pairs(static_cast<int64_t>(pairs.size()));
      if (!pairs.empty()) SetEffect(pairs, one->mutable_effect());
      one->set_problem(commits_[c].problem);
    }
    switch (search.state()) {
      case BisectionSearch::State::kFound:
        if (answer.last - answer.after == 1) {
          bisection.set_verdict("found");
          bisection.set_commit(commits_[answer.last].hash);
          return;
        }
        bisection.set_verdict("cannot_tell");
        bisection.set_reason(absl::StrFormat(
            "it is one of the %d commits after %s up to %s, but those between "
            "cannot be measured",
            answer.last - answer.after,
            ShortRevision(commits_[answer.after].hash),
            ShortRevision(commits_[answer.last].hash)));
        break;
      case BisectionSearch::State::kSame:
        bisection.set_verdict("same");
        bisection.set_reason(
            absl::StrFormat("the bad commit is as fast as the good one, within "
                            "%g%%; nothing to find",
                            options_.duel.interest_percent));
        break;
      default:
        bisection.set_verdict("cannot_tell");
        bisection.set_reason(
            has_started
                ? "commits scatter too much; pass a larger --max-pairs, or use "
                  "a quieter machine"
                : "good and bad cannot be told apart; pass a larger "
                  "--max-pairs, or use a quieter machine");
    }
    result_.exit_code = ExitCode::kCannotTell;
  }

  const BisectOptions& options_;
  Worktrees worktrees_;
  Xoshiro256 random_;
  bool prints_rows_;
  bool is_timing_known_;
  bool stopped_ = false;
  // The good commit first, the bad one last.
  std::vector<Commit> commits_;
  BisectResult result_;
};

std::string EffectText(const Effect& effect) {
  if (effect.confidence() == 0) {
    return absl::StrFormat("%+.2f%%", effect.percent());
  }
  return absl::StrFormat("%+.2f%% (99%% sure of %+.2f%% to %+.2f%%)",
                         effect.percent(), effect.low_percent(),
                         effect.high_percent());
}

}  // namespace

absl::StatusOr<BisectResult> RunBisect(const BisectOptions& options) {
  return Bisector(options).Run();
}

std::string BisectionText(const Bisection& bisection) {
  std::string text;
  const BisectionCommit* found = nullptr;
  Table table(
      {"commit", "probability", "pairs", "against good", "subject"},
      {Align::kLeft, Align::kRight, Align::kRight, Align::kLeft, Align::kLeft});
  for (const BisectionCommit& one : bisection.evidence()) {
    if (one.commit() == bisection.commit()) found = &one;
    table.AddRow({ShortRevision(one.commit()),
                  one.probability() < 0.0005
                      ? "0%"
                      : absl::StrFormat("%.1f%%", 100 * one.probability()),
                  absl::StrCat(one.pairs()),
                  !one.problem().empty() ? one.problem()
                  : one.has_effect()     ? EffectText(one.effect())
                                         : "",
                  one.subject()});
  }
  if (!table.empty()) text = table.ToText();
  if (found != nullptr) {
    const Effect& all = bisection.effect();
    absl::StrAppendFormat(
        &text, "%s is the first %s commit, with probability %.1f%%: %s\n",
        ShortRevision(found->commit()), all.percent() > 0 ? "slower" : "faster",
        100 * bisection.probability(), found->subject());
    const Effect& own = found->effect();
    if (own.confidence() > 0 && (own.high_percent() < all.low_percent() ||
                                 own.low_percent() > all.high_percent())) {
      absl::StrAppendFormat(
          &text,
          "It explains %+.2f%% of %+.2f%%: another commit changed the time "
          "too; go on with --good=%s\n",
          own.percent(), all.percent(), ShortRevision(found->commit()));
    }
  } else {
    absl::StrAppend(&text,
                    bisection.verdict() == "same" ? "same: " : "cannot tell: ",
                    bisection.reason(), "\n");
  }
  absl::StrAppendFormat(
      &text, "%d commits, %d built, %d pairs, %d runs; good to bad: %s\n",
      bisection.commits(), bisection.builds(), bisection.pairs(),
      bisection.runs(), EffectText(bisection.effect()));
  return text;
}

}  // namespace feedrate
