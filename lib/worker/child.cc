#include "lib/worker/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"
#include "lib/base/stopwatch.h"
#include "lib/machine/root.h"
#include "lib/records/worker.pb.h"

namespace feedrate {
namespace {

// Larger than any image; keeps a wrong number from using up our own memory.
constexpr int64_t kMaxOutputBytes = int64_t{4} << 30;

bool IsSound(const OutputItem& item) {
  int64_t bytes = item.dtype() == "uint8"     ? 1
                  : item.dtype() == "float32" ? 4
                                              : 0;
  const bool is_image = item.layout() == "HWC" || item.layout() == "CHW";
  const bool is_clip = item.layout() == "THWC" || item.layout() == "TCHW";
  if (bytes == 0 || item.offset() < 0 || (!is_image && !is_clip) ||
      item.shape_size() != static_cast<int>(item.layout().size())) {
    return false;
  }
  for (const int64_t size : item.shape()) {
    if (size <= 0 || size > kMaxOutputBytes / bytes) return false;
    bytes *= size;
  }
  return bytes == item.bytes();
}

bool ReadAll(int fd, int64_t offset, std::string* bytes) {
  size_t done = 0;
  while (done < bytes->size()) {
    const ssize_t got =
        pread(fd, &(*bytes)[done], bytes->size() - done, offset + done);
    if (got <= 0) return false;
    done += got;
  }
  return true;
}

// Returns `reply`, or DataLoss if it does not have one sample for each chunk of
// the calls that it reports.
absl::StatusOr<TimeReply> CheckTimeReply(const TimeCommand& command,
                                         absl::StatusOr<TimeReply> reply) {
  if (!reply.ok()) return reply;
  const int64_t chunk = std::max<int64_t>(command.chunk(), 1);
  const int64_t chunks = (reply->items() + chunk - 1) / chunk;
  const bool all = reply->items() == command.count();
  if (reply->items() < 0 || reply->items() > command.count() ||
      (!all && command.limit_s() <= 0) || chunks != reply->samples_s_size()) {
    return absl::DataLossError(
        absl::StrCat("answered with ", reply->samples_s_size(), " timings of ",
                     reply->items(), " items when asked for ", command.count(),
                     " in chunks of ", chunk));
  }
  const auto& at = reply->probes_at();
  if (at.size() != reply->probes_s_size() ||
      at.size() != reply->chains_s_size() ||
      !std::is_sorted(at.begin(), at.end()) ||
      (!at.empty() && *at.rbegin() > reply->samples_s_size())) {
    return absl::DataLossError(
        absl::StrCat("answered with ", reply->probes_s_size(),
                     " probes that do not lie between its ",
                     reply->samples_s_size(), " timings"));
  }
  return reply;
}

// Returns `reply`, or DataLoss if its numbers contradict each other or the
// command: there must be one sample per batch, no more items than requested,
// and no time longer than the epoch.
absl::StatusOr<EpochReply> CheckEpochReply(const EpochCommand& command,
                                           absl::StatusOr<EpochReply> reply) {
  if (!reply.ok()) return reply;
  const int64_t samples = reply->samples_s_size();
  // An audit must see a loader that delivers too much.
  const bool too_many = reply->items() > command.count() && !command.ids();
  if (too_many || reply->batches() != samples ||
      (reply->items() > 0) != (reply->batches() > 0)) {
    return absl::DataLossError(
        absl::StrCat("answered with ", samples, " timings of ",
                     reply->batches(), " batches and ", reply->items(),
                     " items when asked for ", command.count(), " items"));
  }
  // Allow for differences between the clocks of two processes.
  const double most = reply->elapsed_s() + 1e-3;
  if (reply->startup_s() > most || reply->first_batch_s() > most ||
      reply->teardown_s() > most) {
    return absl::DataLossError(absl::StrCat(
        "answered with a part of the epoch that is longer than its ",
        reply->elapsed_s(), " s"));
  }
  return reply;
}

// Opens a memory file of process `pid`. What else it has is not opened: with
// our rights that could wait for ever, or start a device.
UniqueFd OpenMemoryFile(int64_t pid, int fd, int mode) {
  const UniqueFd place(open(absl::StrCat("/proc/", pid, "/fd/", fd).c_str(),
                            O_PATH | O_CLOEXEC));
  const std::string own = absl::StrCat("/proc/self/fd/", place.get());
  char name[16] = {};
  struct stat status = {};
  if (!place.valid() || readlink(own.c_str(), name, sizeof(name) - 1) < 0 ||
      !absl::StartsWith(name, "/memfd:") || fstat(place.get(), &status) != 0 ||
      !S_ISREG(status.st_mode)) {
    return UniqueFd();
  }
  return UniqueFd(open(own.c_str(), mode | O_CLOEXEC));
}

// Copies `wanted` outputs from the memory file of process `pid`. DataLoss if
// they are missing, or their shapes do not match their sizes.
absl::StatusOr<std::vector<ChildOutput>> CopyOutputs(int64_t pid, int wanted,
                                                     const OutputReply& reply) {
  const UniqueFd file = OpenMemoryFile(pid, reply.fd(), O_RDONLY);
  if (!file.valid() || reply.outputs_size() != wanted) {
    return absl::DataLossError(absl::StrCat("gave ", reply.outputs_size(),
                                            " outputs of ", wanted,
                                            ", or no file with them"));
  }
  std::vector<ChildOutput> outputs;
  for (const OutputItem& item : reply.outputs()) {
    if (!IsSound(item)) {
      return absl::DataLossError(
          absl::StrCat("described an output that cannot be: ", item.bytes(),
                       " bytes of ", item.dtype(), " ", item.layout()));
    }
    ChildOutput& output = outputs.emplace_back();
    output.info = item;
    output.bytes.resize(item.bytes());
    if (!ReadAll(file.get(), item.offset(), &output.bytes)) {
      return absl::DataLossError("gave an output that ends too early");
    }
  }
  return outputs;
}

// Opens the memory file of process `pid` and fixes its size. DataLoss if it is
// none, or has another size: reading a map of it could end this process.
absl::StatusOr<UniqueFd> OpenShared(int64_t pid, int fd, int64_t bytes) {
  UniqueFd file = OpenMemoryFile(pid, fd, O_RDWR);
  struct stat status = {};
  if (!file.valid() ||
      fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0 ||
      fstat(file.get(), &status) != 0 || status.st_size != bytes) {
    return absl::DataLossError(
        absl::StrCat("gave no memory file of ", bytes, " bytes"));
  }
  return file;
}

// Maximum size of an answer without its samples.
constexpr size_t kMaxReplyBytes = size_t{1} << 20;
// Paths and reasons of kMaxNamedErrors.
constexpr size_t kMaxErrorBytes = size_t{8} << 20;
// The longest shortest-form double with its comma, and some margin.
constexpr size_t kBytesPerSample = 32;
// Two whole numbers with commas.
constexpr size_t kBytesPerCount = 24;
constexpr size_t kMaxStateBytes = size_t{16} << 20;
constexpr int64_t kLongestPollMs = 60000;
// Time for a child that closed its pipe to end.
constexpr int kEndMs = 200;

// Returns the kernel's count of out-of-memory kills.
int64_t KernelKills() {
  for (const absl::string_view line :
       absl::StrSplit(Root().ReadText("/proc/vmstat"), '\n')) {
    const std::pair<absl::string_view, absl::string_view> entry =
        absl::StrSplit(line, ' ');
    int64_t count = 0;
    if (entry.first == "oom_kill" && absl::SimpleAtoi(entry.second, &count)) {
      return count;
    }
  }
  return 0;
}

// Whether process `pid` is there and was started by `parent`: a server whose
// code nobody trusts may name any number.
bool IsChildOf(int64_t pid, int64_t parent) {
  const std::string status =
      Root().ReadText(absl::StrCat("/proc/", pid, "/status"));
  return pid > 1 &&
         absl::StrContains(status, absl::StrCat("\nPPid:\t", parent, "\n"));
}

std::string Megabytes(int64_t bytes) {
  return absl::StrCat((bytes + (1 << 19)) >> 20, " MB");
}

}  // namespace

absl::StatusOr<std::unique_ptr<MeasuredChild>> MeasuredChild::Spawn(
    LibraryServer* server, const std::string& library, int corpus_fd,
    int64_t memory_limit_bytes) {
  ASSIGN_OR_RETURN(ChildPipes pipes, server->Spawn(library, corpus_fd));
  if (!IsChildOf(pipes.pid, server->pid())) {
    return absl::UnavailableError(
        absl::StrCat(server->name(), ": its server named process ", pipes.pid,
                     ", which it has not started"));
  }
  return std::unique_ptr<MeasuredChild>(
      new MeasuredChild(server, std::move(pipes), memory_limit_bytes));
}

MeasuredChild::MeasuredChild(LibraryServer* server, ChildPipes pipes,
                             int64_t memory_limit_bytes)
    : server_(server),
      pid_(pipes.pid),
      commands_(std::move(pipes.commands)),
      replies_(std::move(pipes.replies)),
      last_words_(std::move(pipes.stderr_end)),
      pid_fd_(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0))),
      memory_limit_bytes_(memory_limit_bytes),
      guard_(GuardMemory(Root(), pid_, memory_limit_bytes)),
      kernel_kills_(KernelKills()) {}

MeasuredChild::~MeasuredChild() {
  if (alive()) Bury(absl::OkStatus()).IgnoreError();
}

bool MeasuredChild::Send(const std::string& line) {
  absl::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t sent = write(commands_.get(), rest.data(), rest.size());
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    rest.remove_prefix(sent);
  }
  return true;
}

absl::StatusOr<std::string> MeasuredChild::Exchange(const std::string& line,
                                                    absl::Duration limit,
                                                    size_t max_reply_bytes) {
  RETURN_IF_ERROR(end_);
  replies_.Fill();
  if (replies_.unfinished() > 0 || !Send(line)) {
    if (replies_.unfinished() == 0) return BuryClosed();
    return Bury(absl::DataLossError(
        absl::StrCat("wrote without being asked: \"",
                     absl::CHexEscape(replies_.rest().substr(0, 80)), "\"")));
  }
  return Wait(limit, max_reply_bytes);
}

absl::StatusOr<std::string> MeasuredChild::Wait(absl::Duration limit,
                                                size_t max_reply_bytes) {
  const Stopwatch watch;
  while (true) {
    if (absl::optional<std::string> line = replies_.TakeLine()) {
      return *std::move(line);
    }
    if (replies_.unfinished() > max_reply_bytes) {
      return Bury(absl::DataLossError(absl::StrCat(
          "wrote ", replies_.unfinished(), " bytes without an end of line")));
    }
    if (replies_.closed()) return BuryClosed();
    if (guard_ != nullptr && guard_->Exceeded()) {
      return Bury(absl::ResourceExhaustedError(""));
    }
    const absl::Duration left = limit - watch.Elapsed();
    if (left <= absl::ZeroDuration()) {
      return Bury(absl::DeadlineExceededError(
          absl::StrCat("gave no answer within ", absl::FormatDuration(limit))));
    }
    const absl::Duration wait =
        guard_ == nullptr ? left : std::min(left, guard_->interval());
    pollfd wanted[] = {{replies_.fd(), POLLIN, 0},
                       {last_words_.fd(), POLLIN, 0},
                       {pid_fd_.get(), POLLIN, 0},
                       {server_->interrupt_fd(), POLLIN, 0}};
    poll(wanted, 4,
         static_cast<int>(
             std::min(absl::ToInt64Milliseconds(wait) + 1, kLongestPollMs)));
    if (wanted[3].revents != 0)
      return Bury(absl::CancelledError("interrupted"));
    if (wanted[1].revents != 0) last_words_.Drain();
    if ((wanted[0].revents | wanted[2].revents) == 0) continue;
    replies_.Fill();
    // The child ended; everything it wrote has been read. Do not wait for the
    // pipe to close, because other processes may hold it open.
    if (wanted[2].revents != 0) {
      if (absl::optional<std::string> line = replies_.TakeLine()) return *line;
      return Bury(absl::OkStatus());
    }
  }
}

absl::Status MeasuredChild::EndOf(const absl::StatusOr<ChildInfo>& child) {
  if (!child.ok()) return child.status();
  const bool was_killed =
      WIFSIGNALED(child->status()) && WTERMSIG(child->status()) == SIGKILL;
  if (guard_ != nullptr && guard_->Exceeded()) {
    return absl::ResourceExhaustedError("");
  }
  if (was_killed && KernelKills() > kernel_kills_) {
    return absl::ResourceExhaustedError(
        "killed by the kernel because the machine ran out of memory");
  }
  return absl::AbortedError(ExitText(child->status()));
}

absl::Status MeasuredChild::BuryClosed() {
  // The child may be about to end by itself; wait to learn how.
  pollfd ended = {pid_fd_.get(), POLLIN, 0};
  const bool lives_on = pid_fd_.valid() && poll(&ended, 1, kEndMs) == 0;
  return Bury(lives_on
                  ? absl::DataLossError("closed its pipe instead of answering")
                  : absl::OkStatus());
}

absl::Status MeasuredChild::Bury(absl::Status why) {
  // Its number may be another's by now, if its server has waited for it.
  if (pid_fd_.valid()) {
    syscall(SYS_pidfd_send_signal, pid_fd_.get(), SIGKILL, nullptr, 0);
  } else {
    kill(static_cast<pid_t>(pid_), SIGKILL);
  }
  const absl::StatusOr<ChildInfo> child = server_->Reap(pid_);
  if (why.ok()) why = EndOf(child);
  if (why.code() == absl::StatusCode::kResourceExhausted &&
      why.message().empty()) {
    why = absl::ResourceExhaustedError(absl::StrCat(
        "took more memory than --memory_limit allows (",
        Megabytes(memory_limit_bytes_), " above what it started with)"));
  }
  last_words_.Drain();
  const std::string words = last_words_.Text();
  if (!words.empty() && why.code() != absl::StatusCode::kCancelled) {
    why = absl::Status(why.code(),
                       absl::StrCat(why.message(), "; last words: ", words));
  }
  end_ = why;
  return end_;
}

template <typename Reply>
absl::StatusOr<Reply> MeasuredChild::Judge(absl::StatusOr<Reply> reply) {
  // A child that ran out of memory is killed, so that its device memory is free
  // for others.
  if (reply.status().code() == absl::StatusCode::kDataLoss ||
      reply.status().code() == absl::StatusCode::kResourceExhausted) {
    return Bury(reply.status());
  }
  return reply;
}

absl::StatusOr<PrepareReply> MeasuredChild::Prepare(
    const PrepareCommand& command, absl::Duration limit) {
  ASSIGN_OR_RETURN(const std::string line,
                   Exchange(CommandLine(command), limit, kMaxReplyBytes));
  return Judge(ParseReply<PrepareReply>(line));
}

absl::StatusOr<TimeReply> MeasuredChild::Time(const TimeCommand& command,
                                              absl::Duration limit) {
  const int64_t chunk = std::max<int64_t>(command.chunk(), 1);
  const size_t samples = command.count() / chunk + 1;
  ASSIGN_OR_RETURN(const std::string line,
                   Exchange(CommandLine(command), limit,
                            kMaxReplyBytes + samples * 3 * kBytesPerSample));
  return Judge(CheckTimeReply(command, ParseTimeReply(line)));
}

absl::StatusOr<EpochReply> MeasuredChild::Epoch(const EpochCommand& command,
                                                int64_t batch_size,
                                                absl::Duration limit,
                                                int64_t datasets) {
  const size_t batches = command.count() / std::max<int64_t>(batch_size, 1) + 1;
  // A mixture has a second time and at most two numbers per data set.
  const size_t per_batch = datasets > 0
                               ? 2 * kBytesPerSample + datasets * kBytesPerCount
                               : kBytesPerSample;
  // Loaders with a checkpoint of megabytes keep a record of each item.
  const size_t for_ids =
      command.ids() ? kMaxStateBytes + command.count() * 32 : 0;
  ASSIGN_OR_RETURN(const std::string line,
                   Exchange(CommandLine(command), limit,
                            kMaxReplyBytes + kMaxErrorBytes +
                                batches * per_batch + for_ids));
  return Judge(CheckEpochReply(command, ParseEpochReply(line)));
}

absl::StatusOr<StopReply> MeasuredChild::Stop(absl::Duration limit) {
  ASSIGN_OR_RETURN(const std::string line,
                   Exchange(CommandLine(StopCommand()), limit, kMaxReplyBytes));
  return Judge(ParseReply<StopReply>(line));
}

absl::StatusOr<std::vector<ChildOutput>> MeasuredChild::Outputs(
    const OutputCommand& command, absl::Duration limit) {
  ASSIGN_OR_RETURN(const std::string line,
                   Exchange(CommandLine(command), limit, kMaxReplyBytes));
  ASSIGN_OR_RETURN(const OutputReply reply,
                   Judge(ParseReply<OutputReply>(line)));
  return Judge(CopyOutputs(pid_, command.indexes_size(), reply));
}

absl::StatusOr<SharedFiles> MeasuredChild::Attach(const AttachCommand& command,
                                                  absl::Duration limit) {
  ASSIGN_OR_RETURN(const std::string line,
                   Exchange(CommandLine(command), limit, kMaxReplyBytes));
  ASSIGN_OR_RETURN(const AttachReply reply,
                   Judge(ParseReply<AttachReply>(line)));
  SharedFiles files;
  ASSIGN_OR_RETURN(files.input, Judge(OpenShared(pid_, reply.input_fd(),
                                                 command.input_bytes())));
  ASSIGN_OR_RETURN(files.output, Judge(OpenShared(pid_, reply.output_fd(),
                                                  command.output_bytes())));
  return files;
}

absl::Status MeasuredChild::Seed(const SeedCommand& command,
                                 absl::Duration limit) {
  ASSIGN_OR_RETURN(const std::string line,
                   Exchange(CommandLine(command), limit, kMaxReplyBytes));
  return Judge(ParseReply<SeedReply>(line)).status();
}

absl::StatusOr<OutputItem> MeasuredChild::Call(const CallCommand& command,
                                               int64_t max_bytes,
                                               absl::Duration limit) {
  ASSIGN_OR_RETURN(const std::string line,
                   Exchange(CommandLine(command), limit, kMaxReplyBytes));
  ASSIGN_OR_RETURN(const CallReply reply, Judge(ParseReply<CallReply>(line)));
  if (reply.nonce() != command.nonce()) {
    return Bury(absl::DataLossError("answered before it was asked"));
  }
  const OutputItem& output = reply.output();
  if (!IsSound(output) || output.offset() != 0 || output.bytes() > max_bytes) {
    return Bury(absl::DataLossError(
        absl::StrCat("described an output that cannot be: ", output.bytes(),
                     " bytes of ", output.dtype(), " ", output.layout())));
  }
  return output;
}

}  // namespace feedrate
