#include "lib/audit/run_training.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/stopwatch.h"
#include "lib/base/text.h"
#include "lib/base/unique_fd.h"
#include "lib/base/xoshiro.h"
#include "lib/machine/process_counters.h"
#include "lib/machine/root.h"
#include "lib/records/record_io.h"

namespace feedrate {
namespace {

// How often the processes are looked at.
constexpr int kPollMs = 10;
// What is killed is gone after this, or stays.
constexpr double kReapS = 10;

std::vector<std::string> ShellWords(const std::string& command) {
  return {"/bin/sh", "-c", command};
}

// A port of this machine that nobody listens at.
int FreePort() {
  const UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  if (!fd.valid() ||
      bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size) !=
          0) {
    return 29500;
  }
  return ntohs(address.sin_port);
}

using Variables = std::map<std::string, std::string>;

// Starts a command. Its output goes to our standard error.
absl::StatusOr<pid_t> Start(const std::vector<std::string>& words,
                            const Variables& variables) {
  std::vector<std::string> texts;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string name(*entry, strcspn(*entry, "="));
    if (variables.count(name) == 0) texts.emplace_back(*entry);
  }
  for (const auto& [name, value] : variables) {
    texts.push_back(absl::StrCat(name, "=", value));
  }
  std::vector<char*> argv, env;
  for (const std::string& word : words) {
    argv.push_back(const_cast<char*>(word.c_str()));
  }
  argv.push_back(nullptr);
  for (std::string& text : texts) env.push_back(&text[0]);
  env.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot fork: ", strerror(errno)));
  }
  if (pid > 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  setsid();
  for (const int number : {SIGINT, SIGTERM, SIGPIPE}) signal(number, SIG_DFL);
  dup2(2, 1);
  execvpe(argv[0], argv.data(), env.data());
  for (const char* text : {"cannot start ", static_cast<const char*>(argv[0]),
                           ": ", strerrordesc_np(errno), "\n"}) {
    [[maybe_unused]] const ssize_t written = write(2, text, strlen(text));
  }
  _exit(127);
}

// All that we started, directly or not. Orphans are ours too.
std::vector<pid_t> Descendants() {
  std::vector<pid_t> pids = ProcessTree(Root(), getpid());
  pids.erase(std::remove(pids.begin(), pids.end(), getpid()), pids.end());
  return pids;
}

void SignalAll(int number) {
  for (const pid_t pid : Descendants()) kill(pid, number);
}

// Kills everything and waits until it is gone.
void EndAll() {
  const Stopwatch watch;
  while (watch.Seconds() < kReapS) {
    SignalAll(SIGKILL);
    while (waitpid(-1, nullptr, WNOHANG) > 0) continue;
    if (Descendants().empty()) return;
    poll(nullptr, 0, kPollMs);
  }
}

std::string EndText(int status) {
  return WIFSIGNALED(status)
             ? absl::StrCat("was killed by signal ", WTERMSIG(status), " (",
                            strsignal(WTERMSIG(status)), ")")
             : absl::StrCat("ended with exit code ", WEXITSTATUS(status));
}

// Why what we wait for is to end now.
absl::Status WhyToEnd(const TrainingPlan& plan, const Stopwatch& watch,
                      absl::string_view what) {
  if (plan.is_interrupted && plan.is_interrupted()) {
    return absl::CancelledError("interrupted");
  }
  if (plan.timeout_s > 0 && watch.Seconds() > plan.timeout_s) {
    return absl::DeadlineExceededError(
        absl::StrCat(what, " took longer than ", plan.timeout_s,
                     " s; raise --timeout if it does not hang"));
  }
  return absl::OkStatus();
}

// Runs the command of --prepare to its end.
absl::Status Prepare(const TrainingPlan& plan, const std::string& command) {
  ASSIGN_OR_RETURN(const pid_t pid, Start(ShellWords(command), {}));
  const Stopwatch watch;
  int status = 0;
  while (waitpid(pid, &status, WNOHANG) != pid) {
    const absl::Status why =
        WhyToEnd(plan, watch, absl::StrCat("--prepare: \"", command, "\""));
    if (!why.ok()) {
      EndAll();
      return why;
    }
    poll(nullptr, 0, kPollMs);
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--prepare: \"", command, "\" ", EndText(status)));
}

absl::StatusOr<std::vector<AuditLine>> ReadLines(const std::string& path) {
  std::vector<AuditLine> lines;
  std::string complaint;
  RecordReader reader(
      [&lines](absl::string_view record, JsonReader& json) {
        if (record != "audit_line") return absl::OkStatus();
        return json.Read(&lines.emplace_back());
      },
      [&complaint](const std::string& text) { complaint = text; });
  RETURN_IF_ERROR(reader.ReadFile(path));
  if (reader.broken_lines() == 0) return lines;
  // A batch that was left out would be taken for items never seen, or hide
  // that some were seen twice.
  return absl::DataLossError(
      absl::StrCat(Counted(reader.broken_lines(), "note"),
                   " of the training cannot be read: ", complaint));
}

class Runner {
 public:
  Runner(const TrainingPlan& plan, std::string name)
      : plan_(plan), name_(std::move(name)) {}

  absl::StatusOr<TrainingRun> Run(int kills, int64_t steps) {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (!plan_.prepare.empty()) {
      RETURN_IF_ERROR(Prepare(plan_, Filled(plan_.prepare, plan_.world_size)));
    }
    TrainingRun run;
    run.name = name_;
    Xoshiro256 random(plan_.seed);
    while (true) {
      const bool is_last = static_cast<int>(run.lives.size()) >= kills;
      Stop stop;
      if (!is_last) {
        const int64_t share = std::max<int64_t>(1, steps / (kills + 1));
        stop.step = std::max<int64_t>(
            2, share / 2 + static_cast<int64_t>(random.Below(share + 1)));
        stop.rank = static_cast<int>(random.Below(plan_.world_size));
        stop.is_term = plan_.signal == "term" ||
                       (plan_.signal == "both" && run.lives.size() % 2 == 1);
      }
      ASSIGN_OR_RETURN(Life life, Live(run.lives.size(), stop));
      const bool was_killed = life.killed_rank >= 0;
      run.lives.push_back(std::move(life));
      if (!was_killed) return run;
    }
  }

 private:
  struct Stop {
    int64_t step = 0;
    int rank = 0;
    bool is_term = false;
  };

  std::string Filled(const std::string& word, int world_size) const {
    return absl::StrReplaceAll(
        word, {{"{world_size}", absl::StrCat(world_size)}, {"{run}", name_}});
  }

  absl::StatusOr<Life> Live(size_t number, const Stop& stop) {
    const std::string folder =
        JoinPath(plan_.work, absl::StrCat(name_, ".", number));
    RETURN_IF_ERROR(MakeFolder(folder));
    const bool is_restart = number > 0;
    const int world_size = is_restart && plan_.restart_world_size > 0
                               ? plan_.restart_world_size
                               : plan_.world_size;
    std::vector<std::string> words = is_restart && !plan_.restart.empty()
                                         ? ShellWords(plan_.restart)
                                         : plan_.command;
    const bool launches =
        absl::StrContains(absl::StrJoin(words, " "), "{world_size}");
    for (std::string& word : words) word = Filled(word, world_size);
    ASSIGN_OR_RETURN(const std::vector<pid_t> pids,
                     StartAll(words, folder, launches ? 1 : world_size, stop));
    const absl::StatusOr<bool> killed = Attend(pids, folder, stop);
    EndAll();
    RETURN_IF_ERROR(killed.status());
    ASSIGN_OR_RETURN(const std::vector<std::string> paths,
                     ListPlainFiles(folder, ".jsonl"));
    std::vector<std::vector<AuditLine>> processes;
    for (const std::string& path : paths) {
      ASSIGN_OR_RETURN(processes.emplace_back(), ReadLines(path));
    }
    Life life = LifeOf(processes);
    if (*killed) life.killed_rank = stop.rank;
    return life;
  }

  absl::StatusOr<std::vector<pid_t>> StartAll(
      const std::vector<std::string>& words, const std::string& folder,
      int processes, const Stop& stop) const {
    Variables variables;
    const char* const path = getenv("PYTHONPATH");
    variables["PYTHONPATH"] = path == nullptr || *path == '\0'
                                  ? plan_.hook
                                  : absl::StrCat(plan_.hook, ":", path);
    variables["FEEDRATE_AUDIT"] = folder;
    variables["FEEDRATE_AUDIT_STOP"] =
        stop.step > 0 ? absl::StrCat(stop.rank, ":", stop.step) : "";
    const int port = processes > 1 ? FreePort() : 0;
    std::vector<pid_t> pids;
    for (int rank = 0; rank < processes; ++rank) {
      if (processes > 1) {
        variables["RANK"] = variables["LOCAL_RANK"] = absl::StrCat(rank);
        variables["WORLD_SIZE"] = variables["LOCAL_WORLD_SIZE"] =
            absl::StrCat(processes);
        variables["MASTER_ADDR"] = "127.0.0.1";
        variables["MASTER_PORT"] = absl::StrCat(port);
      }
      const absl::StatusOr<pid_t> pid = Start(words, variables);
      if (!pid.ok()) {
        EndAll();
        return pid.status();
      }
      pids.push_back(*pid);
    }
    return pids;
  }

  // Waits until all have ended, or were killed at the step to stop at: true.
  absl::StatusOr<bool> Attend(std::vector<pid_t> pids,
                              const std::string& folder, const Stop& stop) {
    const Stopwatch watch;
    const std::string reached = JoinPath(folder, "stop");
    double termed_s = -1;
    while (!pids.empty()) {
      poll(nullptr, 0, kPollMs);
      RETURN_IF_ERROR(WhyToEnd(plan_, watch, "the training"));
      if (termed_s < 0 && stop.step > 0 && IsFile(reached)) {
        if (!stop.is_term) return true;
        SignalAll(SIGTERM);
        RETURN_IF_ERROR(WriteFileAtomically(JoinPath(folder, "stopped"), ""));
        termed_s = watch.Seconds();
      }
      if (termed_s >= 0 && watch.Seconds() > termed_s + plan_.grace_s) {
        return true;
      }
      for (auto pid = pids.begin(); pid != pids.end();) {
        int status = 0;
        if (waitpid(*pid, &status, WNOHANG) != *pid) {
          ++pid;
          continue;
        }
        pid = pids.erase(pid);
        if (termed_s < 0 && status != 0) {
          return absl::InternalError(absl::StrCat(
              "the training ", EndText(status), " by itself (", name_, ")"));
        }
      }
    }
    return termed_s >= 0;
  }

  const TrainingPlan& plan_;
  const std::string name_;
};

}  // namespace

absl::StatusOr<TrainingRun> RunWhole(const TrainingPlan& plan) {
  return Runner(plan, absl::StrCat("whole-", plan.world_size)).Run(0, 0);
}

absl::StatusOr<TrainingRun> RunWithKills(const TrainingPlan& plan,
                                         int64_t steps) {
  return Runner(plan, absl::StrCat("killed-", plan.world_size))
      .Run(plan.kills, steps);
}

absl::StatusOr<std::string> FindHook() {
  ASSIGN_OR_RETURN(const std::string program, ProgramPath());
  const std::string folder = ParentFolder(program);
  std::vector<std::string> tried;
  for (const std::string& root : {absl::StrCat(program, ".runfiles/feedrate"),
                                  ParentFolder(ParentFolder(folder)),
                                  JoinPath(ParentFolder(folder), "libexec")}) {
    tried.push_back(JoinPath(root, "python/feedrate/_audit"));
    if (IsFile(JoinPath(tried.back(), "sitecustomize.py"))) {
      return tried.back();
    }
  }
  return absl::NotFoundError(absl::StrCat("sitecustomize.py is in none of ",
                                          absl::StrJoin(tried, ", ")));
}

}  // namespace feedrate
