#include "lib/adapters/worker/child_session.h"

#include <cxxabi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <optional>
#include <typeinfo>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/adapters/worker/timing.h"
#include "lib/adapters/worker/timing_loop.h"
#include "lib/base/injected_slowdown.h"
#include "lib/base/status_macros.h"
#include "lib/records/worker.pb.h"
#include "lib/worker/message.h"
#include "lib/worker/source_list.h"

namespace feedrate {
namespace {

// A clock for TimeCalls that makes each chunk take longer, by a busy loop. It
// is read once at the start, then twice per chunk. A loop around each call
// would add clock reads to each, more than 3% for cheap transforms.
class SlowClock {
 public:
  explicit SlowClock(double percent) : share_(percent / 100) {}

  int64_t operator()() {
    int64_t now = MonotonicNs();
    const bool ends_chunk = ++reads_ > 1 && reads_ % 2 == 1;
    if (ends_chunk) {
      const int64_t until = now + static_cast<int64_t>((now - begin_) * share_);
      while (now < until) now = MonotonicNs();
    }
    begin_ = now;
    return now;
  }

 private:
  const double share_;
  int64_t reads_ = 0;
  int64_t begin_ = 0;
};

// A run has at most millions of calls; more is an error, and would need an
// array that fits no machine.
constexpr int64_t kMaxCount = int64_t{1} << 30;

// `cv::Exception: message`, in the style of Python.
std::string Describe(const std::exception& error) {
  int failed = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(typeid(error).name(), nullptr, nullptr, &failed),
      &std::free);
  // Torch appends a stack trace.
  absl::string_view what = error.what();
  what = what.substr(0, what.find("\nException raised from "));
  return absl::StrCat(failed == 0 ? name.get() : typeid(error).name(), ": ",
                      what);
}

absl::Status NotPrepared() {
  return absl::FailedPreconditionError("nothing is prepared; send prepare");
}

absl::Status CheckTime(const TimeCommand& command) {
  if (command.first() < 0 || command.count() < 1 ||
      command.count() > kMaxCount || command.chunk() < 1 ||
      !(command.limit_s() >= 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("time: needs first >= 0, 1 <= count <= ", kMaxCount,
                     ", chunk >= 1, limit_s >= 0"));
  }
  return absl::OkStatus();
}

TimingPlan PlanOf(const TimeCommand& command, int64_t num_items) {
  TimingPlan plan;
  plan.first = command.first();
  plan.count = command.count();
  plan.num_items = num_items;
  plan.chunk = command.chunk();
  // Beyond 292 years the nanoseconds would overflow: treated as no limit.
  if (command.limit_s() > 0 && command.limit_s() < 9e9) {
    plan.limit_ns = static_cast<int64_t>(command.limit_s() * 1e9);
  }
  return plan;
}

}  // namespace

ChildSession::ChildSession(Adapter* adapter, int input_fd)
    : adapter_(adapter), input_fd_(input_fd) {}

ChildSession::~ChildSession() {
  if (input_fd_ >= 0) close(input_fd_);
}

absl::StatusOr<std::string> ChildSession::Answer(absl::string_view line) {
  const absl::StatusOr<ChildCommand> command = ParseChildCommand(line);
  if (!command.ok()) {
    return absl::InvalidArgumentError(command.status().message());
  }
  outputs_.reset();
  try {
    absl::StatusOr<std::string> reply = Dispatch(*command);
    if (reply.ok()) return reply;
    return ErrorLine(reply.status().message());
  } catch (const std::exception& error) {
    return ErrorLine(Describe(error));
  } catch (...) {
    return ErrorLine(
        "the library threw something that is not a std::exception");
  }
}

absl::StatusOr<std::string> ChildSession::Dispatch(
    const ChildCommand& command) {
  switch (command.command_case()) {
    case ChildCommand::kPrepare:
      return Prepare(command.prepare());
    case ChildCommand::kTime:
      return Time(command.time());
    case ChildCommand::kEpoch:
      return Epoch(command.epoch());
    case ChildCommand::kOutput:
      return ShowOutputs(command.output());
    case ChildCommand::kStop:
      return Stop();
    case ChildCommand::COMMAND_NOT_SET:
      break;
  }
  return absl::InternalError("a command without a case");
}

absl::Status ChildSession::MapCorpus() {
  if (corpus_.has_value()) return absl::OkStatus();
  ASSIGN_OR_RETURN(corpus_, Corpus::Map(std::exchange(input_fd_, -1)));
  if (corpus_->size() == 0) {
    return absl::InvalidArgumentError("the corpus has no items");
  }
  // A photograph has more than a hundred pages; their faults would double the
  // time of a flip.
  corpus_->Populate();
  return absl::OkStatus();
}

absl::Status ChildSession::PrepareTransform(const PrepareCommand& command) {
  RETURN_IF_ERROR(MapCorpus());
  num_items_ = corpus_->size();
  ASSIGN_OR_RETURN(transform_, adapter_->Prepare(command, *corpus_));
  transform_->Seed(command.seed());
  return absl::OkStatus();
}

absl::Status ChildSession::PrepareLoader(const PrepareCommand& command) {
  RETURN_IF_ERROR(CheckLoaderSpec(command.loader()));
  if (command.loader().source() == "corpus") {
    RETURN_IF_ERROR(MapCorpus());
    input_.corpus = &*corpus_;
    num_items_ = corpus_->size();
  } else {
    ASSIGN_OR_RETURN(input_.files, ReadSourceList(input_fd_));
    num_items_ = static_cast<int64_t>(input_.files.size());
  }
  ASSIGN_OR_RETURN(loader_, adapter_->PrepareLoader(command, input_));
  return absl::OkStatus();
}

absl::Status ChildSession::PrepareDecoder(const PrepareCommand& command) {
  ASSIGN_OR_RETURN(input_.files, ReadSourceList(input_fd_));
  num_items_ = static_cast<int64_t>(input_.files.size());
  ASSIGN_OR_RETURN(transform_, adapter_->PrepareDecoder(command, input_.files));
  return absl::OkStatus();
}

absl::Status ChildSession::PrepareMixture(const PrepareCommand& command) {
  RETURN_IF_ERROR(CheckMixtureSpec(SpecOf(command.mixture())));
  ASSIGN_OR_RETURN(sources_, ReadMixtureSources(input_fd_));
  num_items_ = 0;
  ASSIGN_OR_RETURN(loader_, adapter_->PrepareMixture(command, sources_));
  return absl::OkStatus();
}

absl::StatusOr<std::string> ChildSession::Prepare(
    const PrepareCommand& command) {
  if (command.library() != adapter_->library()) {
    return absl::InvalidArgumentError(
        absl::StrCat("this worker is for ", adapter_->library(), ", not for ",
                     command.library()));
  }
  transform_.reset();
  loader_.reset();
  input_ = {};
  RETURN_IF_ERROR(command.has_loader()    ? PrepareLoader(command)
                  : command.has_mixture() ? PrepareMixture(command)
                  : command.has_decode()  ? PrepareDecoder(command)
                                          : PrepareTransform(command));
  PrepareReply reply;
  reply.set_version(adapter_->version());
  reply.set_clock_pair_s(ClockPairSeconds());
  reply.set_threads(adapter_->threads());
  double engine_items_per_s = 0;
  if (transform_ != nullptr && transform_->device() != nullptr) {
    OpenClock();
    const double copies = transform_->device()->CopyBytesPerSecond();
    if (copies > 0) reply.set_device_copy_bytes_per_s(copies);
    engine_items_per_s = transform_->EngineItemsPerSecond();
    if (transform_->per_sample_loop()) reply.set_per_sample_loop(true);
  }
  if (loader_ != nullptr) engine_items_per_s = loader_->EngineItemsPerSecond();
  if (engine_items_per_s > 0) reply.set_engine_items_per_s(engine_items_per_s);
  return ReplyLine(reply);
}

// Without a clock, rows just lack its readings.
void ChildSession::OpenClock() {
  clock_ = nullptr;
  const std::string bus = transform_->device()->pci_bus_id();
  if (bus.empty()) return;
  absl::StatusOr<std::unique_ptr<GpuClock>> clock =
      GpuClock::Open(NvmlLibraries(), bus);
  if (clock.ok()) clock_ = std::move(*clock);
}

absl::StatusOr<std::string> ChildSession::Time(const TimeCommand& command) {
  if (transform_ == nullptr) return NotPrepared();
  RETURN_IF_ERROR(CheckTime(command));
  transform_->Seed(command.seed());
  PreparedTransform* const transform = transform_.get();
  const TimingPlan plan = PlanOf(command, num_items_);
  if (transform->device() != nullptr) {
    ReadClock read_clock;
    if (clock_ != nullptr) read_clock = [this] { return clock_->Read(); };
    TimeReply reply = TimeOnDevice(plan, command.cold(), transform, read_clock);
    if (clock_ != nullptr) {
      reply.mutable_device()->set_max_clock_mhz(clock_->max_mhz());
    }
    return ReplyLine(reply);
  }
  const auto run = [transform](int64_t item) { transform->Run(item); };
  const double slowdown = InjectedSlowdown().percent();
  const std::optional<double> waited_before_s = WaitedSeconds();
  const Timings timings =
      slowdown > 0 ? TimeCalls(plan, SlowClock(slowdown), run, TakeProbe)
                   : TimeCalls(plan, MonotonicNs, run, TakeProbe);
  const std::optional<double> waited_s = WaitedSeconds();
  TimeReply reply;
  if (waited_before_s.has_value() && waited_s.has_value()) {
    reply.set_waited_s(*waited_s - *waited_before_s);
  }
  reply.set_items(timings.items);
  reply.mutable_samples_s()->Reserve(
      static_cast<int>(timings.samples_ns.size()));
  for (int64_t ns : timings.samples_ns) reply.add_samples_s(ns / 1e9);
  for (const Probe& probe : timings.probes) {
    reply.add_probes_s(probe.wide_ns / 1e9);
    reply.add_chains_s(probe.chain_ns / 1e9);
  }
  for (int64_t at : timings.probes_at) reply.add_probes_at(at);
  return ReplyLine(reply);
}

absl::StatusOr<std::string> ChildSession::Epoch(const EpochCommand& command) {
  if (loader_ == nullptr) return NotPrepared();
  if (command.first() < 0 || command.count() < 1 ||
      command.count() > kMaxCount || !(command.limit_s() >= 0) ||
      !(command.consumer_s() >= 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("epoch: needs first >= 0, 1 <= count <= ", kMaxCount,
                     ", limit_s >= 0, consumer_s >= 0"));
  }
  ASSIGN_OR_RETURN(const EpochReply reply, loader_->RunEpoch(command));
  return ReplyLine(reply);
}

absl::StatusOr<std::string> ChildSession::Stop() {
  if (loader_ == nullptr) return NotPrepared();
  StopReply reply;
  ASSIGN_OR_RETURN(const double teardown_s, loader_->Stop());
  reply.set_teardown_s(teardown_s);
  return ReplyLine(reply);
}

absl::StatusOr<Output> ChildSession::OutputOf(int64_t index, uint64_t seed) {
  return loader_ != nullptr ? loader_->OutputFor(index, seed)
                            : transform_->RunForOutput(index);
}

absl::StatusOr<std::string> ChildSession::ShowOutputs(
    const OutputCommand& command) {
  if (transform_ == nullptr && loader_ == nullptr) return NotPrepared();
  if (transform_ != nullptr) transform_->Seed(command.seed());
  ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create());
  for (int64_t index : command.indexes()) {
    // Only the loader knows how many items a shard has.
    const bool is_known =
        index < num_items_ || (loader_ != nullptr && !input_.files.empty());
    if (index < 0 || !is_known) {
      return absl::InvalidArgumentError(absl::StrCat(
          "output: no item ", index, "; the corpus has ", num_items_));
    }
    ASSIGN_OR_RETURN(const Output output, OutputOf(index, command.seed()));
    RETURN_IF_ERROR(file.Append(output));
  }
  outputs_ = std::move(file);
  return ReplyLine(outputs_->contents());
}

namespace {

// A cache line, so that the runner may use any vector loads.
constexpr int64_t kAlignment = 64;

}  // namespace

absl::StatusOr<OutputFile> OutputFile::Create() {
  const int fd = memfd_create("feedrate outputs", MFD_CLOEXEC);
  if (fd >= 0) return OutputFile(fd);
  return absl::UnavailableError(
      absl::StrCat("cannot make a memory file: ", std::strerror(errno)));
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : contents_(std::move(other.contents_)), end_(other.end_) {
  other.contents_.set_fd(-1);
}

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  contents_.Swap(&other.contents_);
  std::swap(end_, other.end_);
  return *this;
}

OutputFile::~OutputFile() {
  if (contents_.fd() >= 0) close(contents_.fd());
}

absl::Status OutputFile::Append(const Output& output) {
  const auto* bytes = static_cast<const char*>(output.data);
  for (int64_t done = 0; done < output.bytes;) {
    const ssize_t count =
        pwrite(contents_.fd(), bytes + done, output.bytes - done, end_ + done);
    if (count >= 0) {
      done += count;
    } else if (errno != EINTR) {
      return absl::ResourceExhaustedError(
          absl::StrCat("cannot write an output: ", std::strerror(errno)));
    }
  }
  OutputItem* const item = contents_.add_outputs();
  item->set_offset(end_);
  item->set_bytes(output.bytes);
  item->set_dtype(output.dtype);
  item->set_layout(output.layout);
  *item->mutable_shape() = {output.shape.begin(), output.shape.end()};
  end_ = (end_ + output.bytes + kAlignment - 1) / kAlignment * kAlignment;
  return absl::OkStatus();
}

}  // namespace feedrate
