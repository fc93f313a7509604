#include "lib/adapters/faulty/faulty_adapter.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "lib/adapters/worker/server.h"
#include "lib/adapters/worker/timing.h"
#include "lib/base/status_macros.h"
#include "lib/base/xoshiro.h"
#include "lib/ops/params.h"
#include "lib/records/worker.pb.h"
#include "lib/worker/message.h"

namespace c10 {

// With the name and message of torch 2.11, which this program does not link.
class OutOfMemoryError : public std::exception {
 public:
  const char* what() const noexcept override {
    return "CUDA out of memory. Tried to allocate 732.42 GiB. GPU 0 has a "
           "total capacity of 139.80 GiB of which 138.01 GiB is free. "
           "Including non-PyTorch memory, this process has 1.78 GiB memory in "
           "use. Of the allocated memory 704.00 MiB is allocated by PyTorch, "
           "and 0 bytes is reserved by PyTorch but unallocated."
           "\nException raised from malloc at CUDACachingAllocator.cpp:1 (most "
           "recent call first):\nframe #0: c10::Error::Error";
  }
};

}  // namespace c10

namespace feedrate {
namespace {

// Parameters of a fault.
struct Settings {
  double seconds = 0;
  int64_t bytes = 0;  // 0 uses the fault's own default.
  int threads = 1;
  int code = 0;
};

// Does what the fault does. Few of them return.
using Fault = void (*)(const Settings& settings);

// The pipe on which this child answers: the first one beyond standard error
// that is open for writing, or -1. A worker tells its adapter nothing about
// pipes, and only a library that misbehaves on purpose wants to know.
int FindReplyPipe() {
  constexpr int kMostFds = 256;
  for (int fd = 3; fd < kMostFds; ++fd) {
    struct stat info;
    if (fstat(fd, &info) == 0 && S_ISFIFO(info.st_mode) &&
        (fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY) {
      return fd;
    }
  }
  return -1;
}

void Nothing(const Settings&) {}

void SleepSome(const Settings& settings) {
  std::this_thread::sleep_for(std::chrono::duration<double>(settings.seconds));
}

void SpinUntil(std::chrono::steady_clock::time_point end) {
  while (std::chrono::steady_clock::now() < end) {
  }
}

void Busy(const Settings& settings) {
  const auto end =
      std::chrono::steady_clock::now() +
      std::chrono::nanoseconds(static_cast<int64_t>(settings.seconds * 1e9));
  std::vector<std::thread> threads;
  for (int i = 1; i < settings.threads; ++i) {
    threads.emplace_back(SpinUntil, end);
  }
  SpinUntil(end);
  for (std::thread& thread : threads) thread.join();
}

void ThrowException(const Settings&) {
  throw std::runtime_error("faulty: thrown on purpose");
}

void ThrowBadAlloc(const Settings&) { throw std::bad_alloc(); }

void ThrowCudaMemory(const Settings&) {
  throw std::runtime_error("CUDA: cudaMalloc: out of memory");
}

void ThrowTorchMemory(const Settings&) { throw c10::OutOfMemoryError(); }

void Segfault(const Settings&) {
  // By the default handler, not that of a sanitizer.
  signal(SIGSEGV, SIG_DFL);
  raise(SIGSEGV);
}

void Abort(const Settings&) { std::abort(); }

void Exit(const Settings& settings) { _exit(settings.code); }

void KillItself(const Settings&) { kill(getpid(), SIGKILL); }

void Hang(const Settings&) {
  for (;;) pause();
}

void Spin(const Settings&) {
  for (;;) SpinUntil(std::chrono::steady_clock::now() + std::chrono::hours(1));
}

void Stop(const Settings&) { raise(SIGSTOP); }

void Allocate(const Settings& settings) {
  constexpr int64_t kStep = 16 << 20;
  for (int64_t taken = 0; settings.bytes == 0 || taken < settings.bytes;
       taken += kStep) {
    // Never freed, and written to, so that it is really allocated.
    volatile char* memory = new char[kStep];
    for (int64_t i = 0; i < kStep; i += 4096) memory[i] = 1;
  }
}

void WriteReply(absl::string_view text) {
  WriteLine(FindReplyPipe(), text).IgnoreError();
}

void Garbage(const Settings&) {
  WriteReply(absl::string_view("\x7f\x45\x4c\x46 not JSON \xff\xfe\n", 19));
}

void HalfLine(const Settings& settings) {
  WriteReply("{\"samples_s\":[1e-3,");
  KillItself(settings);
}

void ExtraReply(const Settings&) {
  WriteReply("{\"samples_s\":[0.001],\"items\":1}\n");
}

void WrongReply(const Settings& settings) {
  WriteReply("{\"fd\":0,\"outputs\":[]}\n");
  Hang(settings);
}

void EndlessLine(const Settings&) {
  const std::string text =
      absl::StrCat("{\"samples_s\":[", std::string(4096, '1'));
  for (;;) WriteReply(text);
}

void ClosePipe(const Settings& settings) {
  close(FindReplyPipe());
  Hang(settings);
}

void FloodStderr(const Settings& settings) {
  const std::string line = absl::StrCat(std::string(99, 'x'), "\n");
  // More than any pipe holds.
  const int64_t bytes = settings.bytes > 0 ? settings.bytes : 4 << 20;
  for (int64_t done = 0; done < bytes; done += line.size()) {
    WriteLine(STDERR_FILENO, line).IgnoreError();
  }
  WriteLine(STDERR_FILENO, "faulty: these are its last words\n").IgnoreError();
  std::abort();
}

void KillServer(const Settings& settings) {
  kill(getppid(), SIGKILL);
  Hang(settings);
}

struct Named {
  const char* name;
  Fault fault;
  // Its own parameters.
  std::vector<absl::string_view> settings;
};

const std::vector<Named>& Faults() {
  static const auto* const faults = new std::vector<Named>{
      {"ok", Nothing, {}},
      {"noop", Nothing, {}},
      {"slow", SleepSome, {"seconds"}},
      {"busy", Busy, {"seconds", "threads"}},
      {"exception", ThrowException, {}},
      {"out_of_memory", ThrowBadAlloc, {}},
      {"cuda_memory", ThrowCudaMemory, {}},
      {"torch_memory", ThrowTorchMemory, {}},
      {"segfault", Segfault, {}},
      {"abort", Abort, {}},
      {"exit", Exit, {"code"}},
      {"die_silently", KillItself, {}},
      {"hang", Hang, {}},
      {"spin", Spin, {}},
      {"stop", Stop, {}},
      {"allocate", Allocate, {"bytes"}},
      {"garbage", Garbage, {}},
      {"half_line", HalfLine, {}},
      {"extra_reply", ExtraReply, {}},
      {"wrong_reply", WrongReply, {}},
      {"endless_line", EndlessLine, {}},
      {"close_pipe", ClosePipe, {}},
      {"flood_stderr", FloodStderr, {"bytes"}},
      {"kill_server", KillServer, {}},
      {"bad_output", Nothing, {}},
  };
  return *faults;
}

const Named* Find(absl::string_view name) {
  for (const Named& named : Faults()) {
    if (named.name == name) return &named;
  }
  return nullptr;
}

std::vector<std::string> FaultNames() {
  std::vector<std::string> names;
  for (const Named& named : Faults()) names.push_back(named.name);
  return names;
}

// The fault called `name`; NotFound lists them. Names that are not an accident
// in one call but a way to behave (ok, noop, slow, busy, bad_output) do nothing
// here or act on every call: see FaultyTransform.
absl::StatusOr<Fault> FindFault(absl::string_view name) {
  const Named* named = Find(name);
  if (named != nullptr) return named->fault;
  return absl::NotFoundError(absl::StrCat("no fault \"", name, "\"; there are ",
                                          absl::StrJoin(FaultNames(), ", ")));
}

// Reads the settings that `name` takes.
Settings ReadSettings(absl::string_view name, Params* params) {
  Settings settings;
  const Named* named = Find(name);
  if (named == nullptr) return settings;
  const auto takes = [&](absl::string_view setting) {
    return std::count(named->settings.begin(), named->settings.end(), setting) >
               0 &&
           params->Has(setting);
  };
  if (takes("seconds")) settings.seconds = params->Number("seconds");
  if (takes("bytes")) {
    settings.bytes = static_cast<int64_t>(params->Number("bytes"));
  }
  if (takes("threads")) settings.threads = params->Integer("threads");
  if (takes("code")) settings.code = params->Integer("code");
  return settings;
}

enum When { kPrepare, kCall, kOutput };

// The fault, and before which call it happens.
struct Plan {
  std::string name;
  Fault fault = nullptr;
  Settings settings;
  When when = kCall;
  int64_t at = 0;
  // Happens in every call, not in one.
  bool always = false;
};

absl::StatusOr<Plan> ReadPlan(const PrepareCommand& spec) {
  Plan plan;
  plan.name = spec.native_op();
  ASSIGN_OR_RETURN(plan.fault, FindFault(plan.name));
  plan.always = plan.name == "slow" || plan.name == "busy";
  Params params({spec.params().begin(), spec.params().end()});
  plan.settings = ReadSettings(plan.name, &params);
  if (params.Has("when")) {
    plan.when = static_cast<When>(params.Word(
        "when", {{"prepare", kPrepare}, {"call", kCall}, {"output", kOutput}}));
  }
  if (params.Has("at")) {
    Random random(spec.seed());
    plan.at = random.Integer(params.DrawInteger("at"));
  }
  RETURN_IF_ERROR(params.Finish());
  return plan;
}

class FaultyTransform : public PreparedTransform {
 public:
  FaultyTransform(Plan plan, const Corpus& corpus)
      : plan_(std::move(plan)), corpus_(corpus) {}

  void Seed(uint64_t seed) override {}

  void Run(int64_t item) override {
    MaybeFault(kCall, &calls_);
    Work(item);
  }

  absl::StatusOr<Output> RunForOutput(int64_t item) override {
    MaybeFault(kOutput, &outputs_);
    Work(item);
    const ItemView input = corpus_.item(item);
    Output output;
    output.data = pixels_.data();
    output.bytes = static_cast<int64_t>(pixels_.size());
    output.dtype = "uint8";
    output.layout = "HWC";
    output.shape = {input.height, input.width, input.channels};
    if (plan_.name == "bad_output") output.shape[0] += 1;
    return output;
  }

 private:
  void MaybeFault(When now, int64_t* count) {
    const int64_t call = (*count)++;
    if (plan_.when == now && (call == plan_.at || plan_.always)) {
      plan_.fault(plan_.settings);
    }
  }

  void Work(int64_t item) {
    const ItemView input = corpus_.item(item);
    const auto* bytes = static_cast<const uint8_t*>(input.data);
    pixels_.assign(bytes, bytes + input.bytes);
    if (plan_.name == "noop") return;
    for (uint8_t& pixel : pixels_) pixel = 255 - pixel;
  }

  const Plan plan_;
  const Corpus& corpus_;
  std::vector<uint8_t> pixels_;
  int64_t calls_ = 0;
  int64_t outputs_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<PreparedTransform>> FaultyAdapter::Prepare(
    const PrepareCommand& spec, const Corpus& corpus) {
  ASSIGN_OR_RETURN(Plan plan, ReadPlan(spec));
  if (plan.when == kPrepare) plan.fault(plan.settings);
  return std::make_unique<FaultyTransform>(std::move(plan), corpus);
}

namespace {

const std::vector<std::string>& LoaderFaults() {
  static const auto* const names = new std::vector<std::string>{
      "ok",         "drop",          "repeat",     "no_id",    "same_order",
      "new_order",  "by_workers",    "every_rank", "no_state", "forget",
      "skip_ahead", "second_resume", "leak"};
  return *names;
}

// Some ids in batches.
class IdStream : public BatchStream {
 public:
  // `begin` is the number of batches before.
  IdStream(std::vector<std::optional<int64_t>> ids, int64_t batch_size,
           int64_t begin, bool has_state)
      : ids_(std::move(ids)),
        batch_size_(batch_size),
        batch_(begin),
        has_state_(has_state) {}

  absl::StatusOr<Batch> Next() override {
    const size_t begin = std::min<size_t>(ids_.size(), batch_ * batch_size_);
    const size_t end = std::min<size_t>(ids_.size(), begin + batch_size_);
    if (begin == end) return Batch();
    ++batch_;
    return Batch{static_cast<int64_t>(end - begin),
                 1,
                 {ids_.begin() + begin, ids_.begin() + end}};
  }
  absl::Status Finish(EpochReply* reply) override {
    if (has_state_) reply->set_state(absl::StrCat(batch_));
    return absl::OkStatus();
  }

 private:
  const std::vector<std::optional<int64_t>> ids_;
  const int64_t batch_size_;
  int64_t batch_;
  const bool has_state_;
};

class FaultyLoader : public PreparedLoader {
 public:
  FaultyLoader(const PrepareCommand& spec, int64_t leaked_bytes)
      : fault_(spec.native_op()),
        spec_(spec.loader()),
        leaked_bytes_(leaked_bytes) {}

  absl::StatusOr<EpochReply> RunEpoch(const EpochCommand& command) override {
    if (fault_ == "leak") kept_.emplace_back(leaked_bytes_, 'x');
    int64_t begin = 0;
    if (!command.state().empty() &&
        !absl::SimpleAtoi(command.state(), &begin)) {
      return absl::InvalidArgumentError("the state is not one of this loader");
    }
    if (fault_ == "forget") begin = 0;
    if (fault_ == "skip_ahead" && begin > 0) ++begin;
    // Its first state is of batch 3 or 6.
    if (fault_ == "second_resume" && begin > 3 && command.batches() > 0) {
      ++begin;
    }
    return TimeEpoch(command, [&] {
      return std::make_unique<IdStream>(IdsOf(command), spec_.batch_size(),
                                        begin,
                                        command.ids() && fault_ != "no_state");
    });
  }
  absl::StatusOr<Output> OutputFor(int64_t, uint64_t) override {
    return absl::UnimplementedError("faulty makes no outputs");
  }

 private:
  std::vector<std::optional<int64_t>> IdsOf(const EpochCommand& command) {
    std::vector<std::optional<int64_t>> all(command.count());
    for (int64_t i = 0; i < command.count(); ++i) all[i] = i;
    uint64_t seed = command.seed() * 1000 + command.epoch();
    if (fault_ == "same_order") seed = command.seed() * 1000;
    if (fault_ == "by_workers") seed += uint64_t{1000000} * spec_.workers();
    if (fault_ == "new_order") seed += ++epochs_ + getpid();
    SplitMix64 random(seed);
    for (int64_t i = command.count() - 1; i > 0; --i) {
      std::swap(all[i], all[random.Next() % (i + 1)]);
    }
    std::vector<std::optional<int64_t>> ids;
    for (int64_t i = 0; i < command.count(); ++i) {
      if (fault_ == "every_rank" || i % RanksOf(spec_) == spec_.rank()) {
        ids.push_back(all[i]);
      }
    }
    if (fault_ == "drop") ids.pop_back();
    if (fault_ == "repeat") ids.push_back(ids[0]);
    if (fault_ == "no_id") ids[0] = std::nullopt;
    return ids;
  }

  const std::string fault_;
  const LoaderSpec spec_;
  const int64_t leaked_bytes_;
  std::vector<std::string> kept_;
  uint64_t epochs_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<PreparedLoader>> FaultyAdapter::PrepareLoader(
    const PrepareCommand& spec, const LoaderInput& input) {
  const std::vector<std::string>& names = LoaderFaults();
  if (std::count(names.begin(), names.end(), spec.native_op()) == 0) {
    return absl::NotFoundError(absl::StrCat("no fault \"", spec.native_op(),
                                            "\" of loaders; there are ",
                                            absl::StrJoin(names, ", ")));
  }
  Params params({spec.params().begin(), spec.params().end()});
  const double bytes = params.Has("bytes") ? params.Number("bytes") : 0;
  RETURN_IF_ERROR(params.Finish());
  return std::make_unique<FaultyLoader>(spec, static_cast<int64_t>(bytes));
}

}  // namespace feedrate
