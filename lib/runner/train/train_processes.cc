#include "lib/runner/train/train_processes.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "lib/base/files.h"
#include "lib/base/private_folder.h"
#include "lib/base/status_macros.h"
#include "lib/base/stopwatch.h"
#include "lib/catalogue/catalogue.h"
#include "lib/machine/root.h"
#include "lib/model/checkpoint_header.h"
#include "lib/records/json.h"
#include "lib/runner/core/rows.h"
#include "lib/runner/train/train_jobs.h"
#include "lib/worker/memory_guard.h"
#include "lib/worker/process.h"
#include "simdjson.h"

namespace feedrate {
namespace {

absl::Status Garbage(absl::string_view line, absl::string_view why) {
  return absl::DataLossError(
      absl::StrCat("answered \"", line.substr(0, 60), "\", which ", why));
}

absl::Status FailureOf(const TrainReply& reply) {
  if (reply.kind() == "oom") return absl::ResourceExhaustedError(reply.error());
  if (reply.kind() == "diverged") return DivergedError(reply.error());
  return absl::UnknownError(reply.error());
}

// Why all others ended too, if it happened to one process of several.
bool IsCause(const absl::Status& failure) {
  return absl::IsAborted(failure) || absl::IsResourceExhausted(failure) ||
         StatusOfFailure(failure) == "diverged";
}

bool HasAllSteps(const TrainReply& result) {
  if (result.steps_s().empty() || result.wall_s() <= 0) return false;
  for (const double step : result.steps_s()) {
    if (!(step > 0)) return false;
  }
  return result.losses_size() == result.steps_s_size();
}

// DataLoss, with the beginning of the line, when it is not an event, or lacks
// what belongs to it.
absl::StatusOr<TrainReply> ParseTrainReply(absl::string_view line) {
  simdjson::dom::parser parser;
  simdjson::dom::object json;
  if (parser.parse(simdjson::padded_string(line.data(), line.size()))
          .get(json) != simdjson::SUCCESS) {
    return Garbage(line, "is no JSON object");
  }
  TrainReply reply;
  const std::string wrong = ReadUntrusted(json, &reply);
  if (!wrong.empty()) {
    return Garbage(line, absl::StrCat("has no usable \"", wrong, "\""));
  }
  const std::string& event = reply.event();
  if (event == "result") {
    if (HasAllSteps(reply)) return reply;
    return Garbage(line, "has not one time and one loss a step");
  }
  if (event == "answers") {
    const bool has_images =
        reply.has_images() && reply.has_top1() && reply.has_top5();
    if (reply.has_model() && reply.has_loss_sum() &&
        (reply.has_bytes() || has_images)) {
      return reply;
    }
    return Garbage(line, "has no model, loss_sum, or bytes or images");
  }
  if (event == "ready" || event == "progress" || event == "error") return reply;
  return Garbage(line, "is not an event of a training");
}

// How long the other processes may take to notice that one is gone.
constexpr absl::Duration kGrace = absl::Seconds(2);
// How often processes are checked for their end and their memory.
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

  // Reads new output. Sets `heard` when there was any.
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

  // Whether the process has ended, which may leave a failure. Reads its last
  // lines.
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
  TrainReply TakeResult() { return std::move(result_); }

 private:
  void Take(const std::string& line, const TrainCommand& command) {
    absl::StatusOr<TrainReply> reply = ParseTrainReply(line);
    if (!reply.ok()) {
      failure_ = reply.status();
    } else if (reply->event() == "error") {
      failure_ = FailureOf(*reply);
    } else if (reply->event() == "result" || reply->event() == "answers") {
      result_ = *std::move(reply);
      has_result_ = true;
    } else if (reply->event() == "progress" && number_ == 0 &&
               command.progress != nullptr) {
      command.progress(reply->done(), reply->total());
    }
  }

  const int number_;
  const pid_t pid_;
  LineInbox answers_;
  LastWords last_words_;
  const std::unique_ptr<MemoryGuard> guard_;
  bool ended_ = false;
  bool has_result_ = false;
  TrainReply result_;
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
    heard_ = Stopwatch();
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<TrainReply>> Wait() {
    while (!AllEnded()) {
      RETURN_IF_ERROR(Poll());
      Judge();
      if (!ended_well_.ok() && failed_.Elapsed() > kGrace) break;
    }
    for (const auto& rank : ranks_) rank->Kill();
    RETURN_IF_ERROR(ended_well_);
    std::vector<TrainReply> results;
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
    if (heard) heard_ = Stopwatch();
    if (heard_.Elapsed() > command_.silence) {
      return absl::DeadlineExceededError(
          absl::StrCat("no word for ", absl::FormatDuration(command_.silence)));
    }
    return absl::OkStatus();
  }

  // The first failure decides; among several one that causes the errors of the
  // others.
  void Judge() {
    for (const auto& rank : ranks_) {
      const absl::Status& failure = rank->failure();
      if (failure.ok()) continue;
      const bool is_cause = IsCause(failure);
      if (ended_well_.ok()) failed_ = Stopwatch();
      if (!ended_well_.ok() && (!is_cause || is_cause_)) continue;
      is_cause_ = is_cause;
      ended_well_ = failure;
      if (command_.world_size == 1) continue;
      ended_well_ =
          absl::Status(failure.code(), absl::StrCat("process ", rank->number(),
                                                    " of ", command_.world_size,
                                                    ": ", failure.message()));
      failure.ForEachPayload(
          [this](absl::string_view type, const absl::Cord& payload) {
            ended_well_.SetPayload(type, payload);
          });
    }
  }

  const TrainCommand& command_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  // Since a process sent something, and since one failed.
  Stopwatch heard_;
  Stopwatch failed_;
  bool is_cause_ = false;
  absl::Status ended_well_;
};

absl::StatusOr<std::vector<TrainReply>> RunAll(const TrainCommand& command) {
  Processes processes(command);
  RETURN_IF_ERROR(processes.Start());
  return processes.Wait();
}

}  // namespace

absl::StatusOr<std::vector<TrainReply>> RunTrainProcesses(
    const TrainCommand& command) {
  if (command.world_size == 1 || !command.store.empty()) {
    return RunAll(command);
  }
  ASSIGN_OR_RETURN(const std::string folder,
                   MakeTemporaryFolder("feedrate_train"));
  TrainCommand here = command;
  here.store = JoinPath(folder, "store");
  absl::StatusOr<std::vector<TrainReply>> results = RunAll(here);
  unlink(here.store.c_str());
  rmdir(folder.c_str());
  return results;
}

namespace {

// A script of lib/adapters/python in an environment of the set `paper`.
absl::StatusOr<WorkerCommand> PythonScript(const WorkerPlaces& places,
                                           const std::string& group,
                                           const std::string& script) {
  PythonServer server;
  server.env_set = "paper";
  server.env_group = group;
  ASSIGN_OR_RETURN(WorkerCommand command, PythonWorker(places, server));
  const std::string folder = ParentFolder(command.argv[1]);
  command.argv = {command.argv[0], JoinPath(folder, script)};
  return command;
}

}  // namespace

absl::StatusOr<std::string> ModelWorker(const WorkerPlaces& places,
                                        const std::string& name) {
  return FindProgram(places, {name, "lib/model/worker", "", "make torch"});
}

absl::StatusOr<WorkerCommand> TrainWorker(const WorkerPlaces& places,
                                          const std::string& library) {
  if (library == kTrainLibrary || IsTorchFile(library)) {
    ASSIGN_OR_RETURN(const std::string path,
                     ModelWorker(places, "worker_train"));
    WorkerCommand command{{path}, {}};
    if (IsTorchFile(library)) {
      command.argv.push_back(absl::StrCat("script=", library));
    }
    return command;
  }
  constexpr char kScript[] = "train_worker.py";
  WorkerCommand command;
  if (IsSubject(library)) {
    ASSIGN_OR_RETURN(command, SubjectWorker(places, library, /*loader=*/false));
    command.argv = {command.argv[0],
                    JoinPath(ParentFolder(command.argv[1]), kScript),
                    absl::StrCat("subject=", library)};
    return command;
  }
  ASSIGN_OR_RETURN(command, PythonScript(places, "torch_stack", kScript));
  command.argv.push_back(absl::StrCat("library=", library));
  return command;
}

absl::StatusOr<WorkerCommand> FeederWorker(const WorkerPlaces& places,
                                           const std::string& loader) {
  return PythonScript(places,
                      absl::StartsWith(loader, "dali") ? "dali" : "torch_stack",
                      "feed.py");
}

absl::StatusOr<std::map<std::string, std::string>> CheckpointMeta(
    const std::string& path,
    const std::function<void(const std::string&)>& warn) {
  RETURN_IF_ERROR(PlainFileBytes(path).status());
  std::ifstream in(path, std::ios::binary);
  CheckpointHeader header;
  const std::string wrong = CheckCheckpoint(in, &header);
  if (!wrong.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", wrong));
  }
  if (header.meta.count("model") == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": is a checkpoint of no model"));
  }
  if (header.sha256.empty() && warn != nullptr) {
    warn(absl::StrCat(path,
                      ": has no checksum, because an older version wrote it; "
                      "damage would not be noticed"));
  }
  return header.meta;
}

}  // namespace feedrate
