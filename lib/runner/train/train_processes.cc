#include "lib/runner/train/train_processes.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/types/optional.h"
#include "lib/base/status_macros.h"
#include "lib/machine/root.h"
#include "lib/worker/memory_guard.h"
#include "lib/worker/process.h"

namespace feedrate {
namespace {

// How long the others may take to notice that one is gone.
constexpr absl::Duration kGrace = absl::Seconds(2);
// How often ends and memory are looked at.
constexpr absl::Duration kLook = absl::Milliseconds(20);
constexpr size_t kMaxLineBytes = 64 << 20;

// One process. Killed and reaped when it goes out of scope.
class Rank {
 public:
  Rank(int number, StartedProcess process, int64_t memory_limit_bytes)
      : number_(number),
        pid_(process.pid),
        answers_(std::move(process.control)),
        last_words_(std::move(process.stderr_end)),
        guard_(GuardMemory(Root(), pid_, memory_limit_bytes)) {}

  ~Rank() {
    if (ended_) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  void AddTo(std::vector<pollfd>* polls) const {
    for (const int fd : {answers_.fd(), last_words_.fd()}) {
      if (fd >= 0) polls->push_back({fd, POLLIN, 0});
    }
  }

  // Takes in what was said. Sets `heard` when there was something.
  void Listen(const TrainCommand& command, bool* heard) {
    last_words_.Drain();
    answers_.Fill();
    while (absl::optional<std::string> line = answers_.TakeLine()) {
      *heard = true;
      Take(*line, command);
    }
    if (answers_.unfinished() > kMaxLineBytes && failure_.ok()) {
      failure_ = absl::DataLossError("answers without an end");
    }
  }

  void LookAtMemory() {
    if (guard_ == nullptr || ended_ || !guard_->Exceeded()) return;
    failure_ = absl::ResourceExhaustedError(
        "took more memory than --memory_limit allows");
    Kill();
  }

  // Whether it has ended, which may leave a failure. Takes in its last lines.
  bool Ended(const TrainCommand& command) {
    if (ended_) return true;
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) != pid_) return false;
    ended_ = true;
    bool heard = false;
    Listen(command, &heard);
    if (!failure_.ok() || has_result_) return true;
    const std::string words = last_words_.Text();
    failure_ = absl::AbortedError(absl::StrCat(
        ExitText(status), words.empty() ? "" : absl::StrCat(": ", words)));
    return true;
  }

  void Kill() const {
    if (!ended_) kill(pid_, SIGKILL);
  }

  int number() const { return number_; }
  const absl::Status& failure() const { return failure_; }
  bool has_result() const { return has_result_; }
  TrainResult TakeResult() { return std::move(result_); }

 private:
  void Take(const std::string& line, const TrainCommand& command) {
    absl::StatusOr<TrainEvent> event = ParseTrainEvent(line);
    if (!event.ok()) {
      failure_ = event.status();
    } else if (event->event == "error") {
      failure_ = event->kind == "oom"
                     ? absl::ResourceExhaustedError(event->error)
                     : absl::UnknownError(event->error);
    } else if (event->event == "result" || event->event == "answers") {
      result_ = std::move(event->result);
      has_result_ = true;
    } else if (event->event == "progress" && number_ == 0 &&
               command.progress != nullptr) {
      command.progress(event->done, event->total);
    }
  }

  const int number_;
  const pid_t pid_;
  LineInbox answers_;
  LastWords last_words_;
  const std::unique_ptr<MemoryGuard> guard_;
  bool ended_ = false;
  bool has_result_ = false;
  TrainResult result_;
  absl::Status failure_;
};

class Processes {
 public:
  explicit Processes(const TrainCommand& command) : command_(command) {}

  absl::Status Start() {
    const int here =
        command_.local_ranks == 0 ? command_.world_size : command_.local_ranks;
    for (int i = 0; i < here; ++i) {
      const int rank = command_.first_rank + i;
      std::vector<std::string> argv = command_.argv;
      if (command_.world_size > 1) {
        argv.push_back(absl::StrCat("rank=", rank));
        argv.push_back(
            absl::StrCat("device_index=", command_.first_device + i));
        argv.push_back(absl::StrCat("world_size=", command_.world_size));
        argv.push_back(absl::StrCat("store=", command_.store));
      }
      ASSIGN_OR_RETURN(StartedProcess process,
                       StartProcess(argv, command_.environment));
      ranks_.push_back(std::make_unique<Rank>(rank, std::move(process),
                                              command_.memory_limit_bytes));
    }
    heard_at_ = absl::Now();
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<TrainResult>> Wait() {
    while (!AllEnded()) {
      RETURN_IF_ERROR(Poll());
      Judge();
      if (!ended_well_.ok() && absl::Now() > failed_at_ + kGrace) break;
    }
    for (const auto& rank : ranks_) rank->Kill();
    RETURN_IF_ERROR(ended_well_);
    std::vector<TrainResult> results;
    for (const auto& rank : ranks_) results.push_back(rank->TakeResult());
    return results;
  }

 private:
  bool AllEnded() {
    bool all = true;
    for (const auto& rank : ranks_) all &= rank->Ended(command_);
    if (all) Judge();
    return all;
  }

  absl::Status Poll() {
    std::vector<pollfd> polls;
    for (const auto& rank : ranks_) rank->AddTo(&polls);
    if (command_.interrupt_fd >= 0) {
      polls.push_back({command_.interrupt_fd, POLLIN, 0});
    }
    poll(polls.data(), polls.size(), absl::ToInt64Milliseconds(kLook));
    if (command_.interrupt_fd >= 0 && (polls.back().revents & POLLIN) != 0) {
      return absl::CancelledError("interrupted");
    }
    bool heard = false;
    for (const auto& rank : ranks_) {
      rank->Listen(command_, &heard);
      rank->LookAtMemory();
    }
    if (heard) heard_at_ = absl::Now();
    if (absl::Now() > heard_at_ + command_.silence) {
      return absl::DeadlineExceededError(
          absl::StrCat("no word for ", absl::FormatDuration(command_.silence)));
    }
    return absl::OkStatus();
  }

  // The first that failed decides; of several a death, because the others'
  // errors come from it.
  void Judge() {
    for (const auto& rank : ranks_) {
      if (rank->failure().ok()) continue;
      const bool death = absl::IsAborted(rank->failure()) ||
                         absl::IsResourceExhausted(rank->failure());
      if (ended_well_.ok()) failed_at_ = absl::Now();
      if (ended_well_.ok() || (death && !is_death_)) {
        is_death_ = death;
        ended_well_ =
            absl::Status(rank->failure().code(),
                         command_.world_size == 1
                             ? std::string(rank->failure().message())
                             : absl::StrCat("process ", rank->number(), " of ",
                                            command_.world_size, ": ",
                                            rank->failure().message()));
      }
    }
  }

  const TrainCommand& command_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  absl::Time heard_at_;
  absl::Time failed_at_;
  bool is_death_ = false;
  absl::Status ended_well_;
};

}  // namespace

absl::StatusOr<std::vector<TrainResult>> RunTrainProcesses(
    const TrainCommand& command) {
  Processes processes(command);
  RETURN_IF_ERROR(processes.Start());
  absl::StatusOr<std::vector<TrainResult>> results = processes.Wait();
  // No file where there is tcp://.
  if (command.world_size > 1) unlink(command.store.c_str());
  return results;
}

}  // namespace feedrate
