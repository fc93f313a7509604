#include "lib/gate/duel/profile.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "lib/base/files.h"
#include "lib/base/private_folder.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/base/xoshiro.h"
#include "lib/gate/duel/timed_command.h"
#include "lib/machine/git_state.h"

namespace feedrate {

// The contents of python_sampler.py. Defined in a generated file.
extern const char kPythonSampler[];

namespace {

// Enough samples of short commands, and no multiple of common timers.
constexpr int kPerfHertz = 1999;
// A command that spends less of its time in Python is left to perf. Not half,
// because short commands spend most of it starting Python.
constexpr double kMostlyPython = 0.2;
// About as much as fits into int64_t nanoseconds. A sample has milliseconds.
constexpr double kMaxSeconds = 1e10;
const absl::Duration kScriptLimit = absl::Minutes(5);

class ProfileRun {
 public:
  ProfileRun(const DuelOptions& options, Profiler profiler)
      : options_(options), profiler_(profiler), random_(options.seed ^ 1) {}
  ProfileRun(const ProfileRun&) = delete;
  ProfileRun& operator=(const ProfileRun&) = delete;
  ~ProfileRun() {
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  }

  absl::StatusOr<Profile> Run(int pairs) {
    ASSIGN_OR_RETURN(folder_, MakeTemporaryFolder("duel_profile"));
    RETURN_IF_ERROR(WriteFileAtomically(JoinPath(folder_, "sitecustomize.py"),
                                        kPythonSampler));
    if (profiler_ == Profiler::kAuto) RETURN_IF_ERROR(Choose());
    if (profiler_ == Profiler::kPerf) RETURN_IF_ERROR(CheckPerf());
    std::vector<FoldedStacks> a;
    std::vector<FoldedStacks> b;
    for (int i = 0; i < pairs; ++i) {
      const bool b_first = random_.Coin();
      for (const bool side_b : {b_first, !b_first}) {
        if (options_.progress) {
          options_.progress(absl::StrCat("profiling, pair ", i + 1, " of ",
                                         pairs, ", ", side_b ? "B" : "A"));
        }
        ASSIGN_OR_RETURN(FoldedStacks stacks, profiler_ == Profiler::kPerf
                                                  ? PerfOf(side_b)
                                                  : PythonOf(side_b));
        (side_b ? b : a).push_back(std::move(stacks));
      }
    }
    return MakeProfile(profiler_ == Profiler::kPerf ? "perf" : "python", a, b);
  }

 private:
  TimedCommand SpecOf(bool side_b) const {
    TimedCommand spec;
    spec.command = CommandWithJobs(side_b ? options_.b : options_.a, "");
    spec.shell = options_.shell;
    spec.cpus = options_.cpus;
    spec.timeout_s = options_.timeout_s;
    spec.capture_output = false;
    spec.is_stopped = options_.is_stopped;
    return spec;
  }

  // Runs a side under a profiler.
  absl::StatusOr<TimedCommandResult> Start(const TimedCommand& spec,
                                           bool side_b) const {
    ASSIGN_OR_RETURN(TimedCommandResult result, RunTimedCommand(spec));
    if (result.stopped) return absl::CancelledError("interrupted");
    const bool only_failed =
        options_.ignore_failure && result.Status() == "failed";
    if (result.ok() || only_failed) return result;
    return absl::FailedPreconditionError(
        absl::StrCat("--profile: under the profiler, ", side_b ? "B " : "A ",
                     result.Status(), ": ", result.Reason()));
  }

  absl::Status Choose() {
    if (options_.progress) options_.progress("looking whether A is Python");
    double seconds = 0;
    ASSIGN_OR_RETURN(const FoldedStacks stacks, PythonOf(false));
    for (const auto& stack : stacks) seconds += stack.second;
    profiler_ = seconds >= kMostlyPython * last_wall_s_ ? Profiler::kPython
                                                        : Profiler::kPerf;
    return absl::OkStatus();
  }

  absl::StatusOr<FoldedStacks> PythonOf(bool side_b) {
    // A process that outlived the run before may have left a file.
    ASSIGN_OR_RETURN(const std::vector<std::string> old,
                     ListFiles(folder_, ".stacks", false));
    for (const std::string& file : old) unlink(file.c_str());
    TimedCommand spec = SpecOf(side_b);
    const char* path = std::getenv("PYTHONPATH");
    const bool has_path = path != nullptr && path[0] != '\0';
    spec.variables = {absl::StrCat("FEEDRATE_PROFILE=", folder_),
                      "PYTHONDONTWRITEBYTECODE=1",
                      absl::StrCat("PYTHONPATH=", folder_, has_path ? ":" : "",
                                   has_path ? path : "")};
    ASSIGN_OR_RETURN(const TimedCommandResult result, Start(spec, side_b));
    last_wall_s_ = result.wall_s;
    FoldedStacks stacks;
    ASSIGN_OR_RETURN(const std::vector<std::string> files,
                     ListFiles(folder_, ".stacks", false));
    for (const std::string& file : files) {
      ASSIGN_OR_RETURN(const std::string text, ReadFile(file));
      AddPythonStacks(text, &stacks);
    }
    if (stacks.empty() && profiler_ == Profiler::kPython) {
      return absl::FailedPreconditionError(absl::StrCat(
          "--profiler=python: ", side_b ? "B" : "A",
          " left no samples: it is no Python program, ended within a "
          "millisecond or by os._exit, or runs with -I, -E or -S"));
    }
    return stacks;
  }

  absl::Status CheckPerf() const {
    if (RunCommand({"perf", "--version"}, kScriptLimit).status().code() ==
        absl::StatusCode::kNotFound) {
      return absl::FailedPreconditionError(
          "--profile: perf is missing; install it (Debian: apt-get install "
          "linux-perf), or use --profiler=python for Python commands");
    }
    const std::string file = JoinPath(folder_, "try.perf");
    const absl::Status tried =
        RunCommand({"perf", "record", "-q", "-e", "cpu-clock", "-o", file, "--",
                    "true"},
                   kScriptLimit)
            .status();
    if (tried.ok()) return absl::OkStatus();
    return absl::FailedPreconditionError(
        "--profile: perf is not allowed to sample here; as root run `sysctl "
        "kernel.perf_event_paranoid=2`, or give the container CAP_PERFMON");
  }

  absl::StatusOr<FoldedStacks> PerfOf(bool side_b) const {
    const std::string file = JoinPath(folder_, "run.perf");
    unlink(file.c_str());
    TimedCommand spec = SpecOf(side_b);
    std::vector<std::string> words = {"exec",
                                      "perf",
                                      "record",
                                      "-q",
                                      "-e",
                                      "cpu-clock",
                                      "-F",
                                      absl::StrCat(kPerfHertz),
                                      "-g",
                                      "-o",
                                      ShellWord(file),
                                      "--"};
    if (spec.shell.empty()) {
      ASSIGN_OR_RETURN(const std::vector<std::string> parts,
                       SplitCommand(spec.command));
      for (const std::string& part : parts) words.push_back(ShellWord(part));
    } else {
      words.insert(words.end(),
                   {ShellWord(spec.shell), "-c", ShellWord(spec.command)});
    }
    spec.command = absl::StrJoin(words, " ");
    spec.shell = "/bin/sh";
    RETURN_IF_ERROR(Start(spec, side_b).status());
    ASSIGN_OR_RETURN(const std::string text,
                     RunCommand({"perf", "script", "--no-inline", "-i", file,
                                 "-F", "period,ip,sym,dso"},
                                kScriptLimit));
    FoldedStacks stacks = ParsePerfScript(text);
    if (!stacks.empty()) return stacks;
    return absl::FailedPreconditionError(absl::StrCat(
        "--profile: perf took no sample of ", side_b ? "B" : "A",
        "; it used less CPU time than a sample takes, so give it more work"));
  }

  const DuelOptions& options_;
  Profiler profiler_;
  Xoshiro256 random_;
  // Removed with this object.
  std::string folder_;
  double last_wall_s_ = 0;
};

// `7f12 name (path/lib.so)` -> `name`, or `[lib.so]` for an unknown symbol.
std::string FrameName(absl::string_view line) {
  line = absl::StripAsciiWhitespace(line);
  line.remove_prefix(std::min(line.find(' '), line.size()));
  line = absl::StripAsciiWhitespace(line);
  absl::string_view object;
  // A path or something in brackets, maybe followed by " (deleted)".
  size_t open = line.npos;
  for (const absl::string_view start : {" (/", " ([", " ("}) {
    open = line.rfind(start);
    if (open != line.npos) break;
  }
  if (open != absl::string_view::npos && absl::EndsWith(line, ")")) {
    object = line.substr(open + 2, line.size() - open - 3);
    line = line.substr(0, open);
  }
  std::string name = line.empty() || line == "[unknown]"
                         ? absl::StrCat("[", BaseName(object), "]")
                         : std::string(line);
  std::replace(name.begin(), name.end(), ';', ',');
  return name;
}

}  // namespace

FoldedStacks ParsePerfScript(const std::string& text) {
  FoldedStacks stacks;
  double seconds = 0;
  std::vector<std::string> frames;
  const auto finish = [&] {
    std::reverse(frames.begin(), frames.end());
    if (!frames.empty() && seconds > 0) {
      stacks[absl::StrJoin(frames, ";")] += seconds;
    }
    frames.clear();
    seconds = 0;
  };
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const absl::string_view trimmed = absl::StripAsciiWhitespace(line);
    if (trimmed.empty()) {
      finish();
    } else if (line[0] == '\t' || !frames.empty()) {
      frames.push_back(FrameName(trimmed));
    } else {
      int64_t nanoseconds = 0;
      if (absl::SimpleAtoi(trimmed, &nanoseconds) && nanoseconds > 0) {
        seconds = static_cast<double>(nanoseconds) * 1e-9;
      }
    }
  }
  finish();
  return stacks;
}

void AddPythonStacks(absl::string_view text, FoldedStacks* stacks) {
  for (const absl::string_view line :
       absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits(' ', 1));
    double seconds = 0;
    if (absl::SimpleAtod(parts.first, &seconds) && seconds > 0 &&
        seconds < kMaxSeconds) {
      (*stacks)[std::string(parts.second)] += seconds;
    }
  }
}

absl::StatusOr<Profile> RunProfile(const DuelOptions& options,
                                   Profiler profiler, int pairs) {
  return ProfileRun(options, profiler).Run(pairs);
}

}  // namespace feedrate
