#include "lib/runner/train/train_processes.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/stopwatch.h"
#include "lib/machine/root.h"
#include "lib/runner/train/train_jobs.h"
#include "lib/worker/memory_guard.h"
#include "lib/worker/process.h"
#include "simdjson.h"

namespace feedrate {
namespace {

// One line of a process.
struct TrainEvent {
  // `ready`, `progress`, `result`, `answers` or `error`.
  std::string event;
  int64_t done = 0;
  int64_t total = 0;
  std::string error;
  // `oom` or `failed`.
  std::string kind;
  TrainResult result;
};

using simdjson::dom::element;
using simdjson::dom::object;

absl::Status Garbage(absl::string_view line, absl::string_view why) {
  return absl::DataLossError(
      absl::StrCat("answered \"", line.substr(0, 60), "\", which ", why));
}

std::string TextOf(const object& json, const char* name) {
  std::string_view value;
  if (json[name].get(value) != simdjson::SUCCESS) return "";
  return std::string(value);
}

double NumberOf(const object& json, const char* name, double otherwise = 0) {
  double value = 0;
  if (json[name].get(value) != simdjson::SUCCESS) return otherwise;
  return value;
}

std::vector<double> NumbersOf(const object& json, const char* name) {
  std::vector<double> numbers;
  simdjson::dom::array array;
  if (json[name].get(array) != simdjson::SUCCESS) return numbers;
  for (const element value : array) {
    double number = 0;
    if (value.get(number) != simdjson::SUCCESS || !std::isfinite(number)) {
      return {};
    }
    numbers.push_back(number);
  }
  return numbers;
}

template <typename T>
std::map<std::string, T> MapOf(const object& json, const char* name) {
  std::map<std::string, T> map;
  object inner;
  if (json[name].get(inner) != simdjson::SUCCESS) return map;
  for (const auto field : inner) {
    double number = 0;
    if (field.value.get(number) == simdjson::SUCCESS) {
      map[std::string(field.key)] = static_cast<T>(number);
    }
  }
  return map;
}

void ReadProfile(const object& json, TrainResult* result) {
  simdjson::dom::array array;
  if (json["kernels"].get(array) == simdjson::SUCCESS) {
    for (const element value : array) {
      object kernel;
      if (value.get(kernel) != simdjson::SUCCESS) continue;
      StepKernel& step = result->kernels.emplace_back();
      step.set_part(TextOf(kernel, "part"));
      step.set_name(TextOf(kernel, "name"));
      step.set_shapes(TextOf(kernel, "shapes"));
      step.set_step_s(NumberOf(kernel, "step_s"));
      step.set_calls(NumberOf(kernel, "calls"));
      step.set_share(NumberOf(kernel, "share"));
    }
  }
  result->profiled_steps = static_cast<int>(NumberOf(json, "profiled_steps"));
  if (json["traces"].get(array) == simdjson::SUCCESS) {
    for (const element value : array) {
      std::string_view file;
      if (value.get(file) == simdjson::SUCCESS) {
        result->traces.emplace_back(file);
      }
    }
  }
}

void ReadSkipped(const object& json, TrainResult* result) {
  result->skipped_files = static_cast<int64_t>(NumberOf(json, "skipped_files"));
  simdjson::dom::array array;
  if (json["skipped"].get(array) != simdjson::SUCCESS) return;
  for (const element value : array) {
    object file;
    if (value.get(file) != simdjson::SUCCESS) continue;
    LoaderFault& fault = result->skipped.emplace_back();
    fault.set_item(static_cast<int64_t>(NumberOf(file, "item")));
    fault.set_path(TextOf(file, "path"));
    fault.set_reason(TextOf(file, "reason"));
  }
}

TrainResult ReadResult(const object& json) {
  TrainResult result;
  result.version = TextOf(json, "version");
  result.wall_s = NumberOf(json, "wall_s");
  result.steps_s = NumbersOf(json, "steps_s");
  result.phases = MapOf<double>(json, "phases");
  result.losses = NumbersOf(json, "losses");
  result.grad_norms = NumbersOf(json, "grad_norms");
  result.memory_peak_bytes =
      static_cast<int64_t>(NumberOf(json, "memory_peak_bytes"));
  result.memory_reserved_bytes =
      static_cast<int64_t>(NumberOf(json, "memory_reserved_bytes"));
  result.matmul_flops = NumberOf(json, "matmul_flops");
  result.copy_bytes = NumberOf(json, "copy_bytes");
  result.matmul_types = MapOf<int64_t>(json, "matmul_types");
  result.engine = TextOf(json, "engine");
  result.blas = TextOf(json, "blas");
  result.gpu_use = NumberOf(json, "gpu_use", /*otherwise=*/-1);
  result.resident = NumberOf(json, "resident", /*otherwise=*/-1);
  result.storage = TextOf(json, "storage");
  result.files = static_cast<int64_t>(NumberOf(json, "files"));
  result.file_bytes = static_cast<int64_t>(NumberOf(json, "file_bytes"));
  ReadSkipped(json, &result);
  ReadProfile(json, &result);
  return result;
}

bool IsWhole(const TrainResult& result) {
  if (result.steps_s.empty() || result.wall_s <= 0) return false;
  for (const double step : result.steps_s) {
    if (!(step > 0)) return false;
  }
  return result.losses.size() == result.steps_s.size();
}

// DataLoss, with the beginning of the line, when it is not an event, or is a
// result without a number for each step.
absl::StatusOr<TrainEvent> ParseTrainEvent(absl::string_view line) {
  simdjson::dom::parser parser;
  object json;
  if (parser.parse(simdjson::padded_string(line.data(), line.size()))
          .get(json) != simdjson::SUCCESS) {
    return Garbage(line, "is no JSON object");
  }
  TrainEvent event;
  event.event = TextOf(json, "event");
  event.done = static_cast<int64_t>(NumberOf(json, "done"));
  event.total = static_cast<int64_t>(NumberOf(json, "total"));
  event.error = TextOf(json, "error");
  event.kind = TextOf(json, "kind");
  if (event.event == "result") {
    event.result = ReadResult(json);
    if (!IsWhole(event.result)) {
      return Garbage(line, "has not one time and one loss a step");
    }
  } else if (event.event == "answers") {
    event.result.answers = std::string(line);
  } else if (event.event != "ready" && event.event != "progress" &&
             event.event != "error") {
    return Garbage(line, "is no event of a training");
  }
  return event;
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
    heard_ = Stopwatch();
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<TrainResult>> Wait() {
    while (!AllEnded()) {
      RETURN_IF_ERROR(Poll());
      Judge();
      if (!ended_well_.ok() && failed_.Elapsed() > kGrace) break;
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
    if (heard) heard_ = Stopwatch();
    if (heard_.Elapsed() > command_.silence) {
      return absl::DeadlineExceededError(
          absl::StrCat("no word for ", absl::FormatDuration(command_.silence)));
    }
    return absl::OkStatus();
  }

  // The first failure decides; among several a death, because it causes the
  // errors of the others.
  void Judge() {
    for (const auto& rank : ranks_) {
      if (rank->failure().ok()) continue;
      const bool death = absl::IsAborted(rank->failure()) ||
                         absl::IsResourceExhausted(rank->failure());
      if (ended_well_.ok()) failed_ = Stopwatch();
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
  // Since a process sent something, and since one failed.
  Stopwatch heard_;
  Stopwatch failed_;
  bool is_death_ = false;
  absl::Status ended_well_;
};

}  // namespace

absl::StatusOr<std::vector<TrainResult>> RunTrainProcesses(
    const TrainCommand& command) {
  Processes processes(command);
  RETURN_IF_ERROR(processes.Start());
  absl::StatusOr<std::vector<TrainResult>> results = processes.Wait();
  // With tcp:// there is no file.
  if (command.world_size > 1) unlink(command.store.c_str());
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
  if (library == kTrainLibrary) {
    ASSIGN_OR_RETURN(const std::string path,
                     ModelWorker(places, "worker_train"));
    return WorkerCommand{{path}, {}};
  }
  ASSIGN_OR_RETURN(WorkerCommand command,
                   PythonScript(places, "torch_stack", "train_worker.py"));
  command.argv.push_back(absl::StrCat("library=", library));
  return command;
}

absl::StatusOr<WorkerCommand> FeederWorker(const WorkerPlaces& places,
                                           const std::string& loader) {
  return PythonScript(places, loader == "dali" ? "dali" : "torch_stack",
                      "feed.py");
}

}  // namespace feedrate
