#include "lib/runner/train/multi_node.h"

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "lib/base/status_macros.h"
#include "lib/base/stopwatch.h"

namespace feedrate {
namespace {

// Time between two tries to reach a leader that does not listen yet.
constexpr absl::Duration kAgain = absl::Milliseconds(200);
// A stranger who connects and sends nothing delays the others by at most this.
constexpr absl::Duration kGreeting = absl::Seconds(5);
constexpr int kMostWords = 1000;

absl::Status Errno(absl::string_view what) {
  return absl::UnavailableError(absl::StrCat(what, ": ", strerror(errno)));
}

bool Readable(int fd, absl::Duration patience) {
  pollfd wait = {fd, POLLIN, 0};
  return poll(&wait, 1, absl::ToInt64Milliseconds(patience)) == 1;
}

absl::Status SendAll(int fd, absl::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return Errno("another rank is gone");
    text.remove_prefix(sent);
  }
  return absl::OkStatus();
}

absl::StatusOr<UniqueFd> Listen(int port) {
  UniqueFd fd(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 any6 = {};
  any6.sin6_family = AF_INET6;
  any6.sin6_port = htons(port);
  sockaddr_in any4 = {};
  any4.sin_family = AF_INET;
  any4.sin_port = htons(port);
  auto* address = reinterpret_cast<sockaddr*>(&any6);
  socklen_t bytes = sizeof(any6);
  if (!fd.valid()) {  // A machine without IPv6.
    fd.Reset(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    address = reinterpret_cast<sockaddr*>(&any4);
    bytes = sizeof(any4);
  }
  const int yes = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  if (bind(fd.get(), address, bytes) != 0 || listen(fd.get(), 1024) != 0) {
    return Errno(absl::StrCat("port ", port,
                              ", where the other ranks would come; set "
                              "MASTER_PORT to a free one"));
  }
  return fd;
}

UniqueFd TryConnect(const std::string& host, int port) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), absl::StrCat(port).c_str(), &hints, &found) !=
      0) {
    return UniqueFd();
  }
  UniqueFd fd;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    fd.Reset(socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (fd.valid() && connect(fd.get(), at->ai_addr, at->ai_addrlen) == 0) {
      break;
    }
    fd.Reset();
  }
  freeaddrinfo(found);
  return fd;
}

// Whether the peer proves that it belongs to this step.
bool IsOfStep(int fd, const std::string& token) {
  const std::string wanted = absl::StrCat("feedrate ", token, "\n");
  std::string said;
  const Stopwatch watch;
  while (said.size() < wanted.size() &&
         Readable(fd, kGreeting - watch.Elapsed())) {
    char letter = 0;
    if (recv(fd, &letter, 1, 0) != 1) return false;
    said.push_back(letter);
  }
  return said == wanted;
}

}  // namespace

absl::StatusOr<std::unique_ptr<RankLeader>> RankLeader::Gather(
    const SlurmStep& step, absl::Duration patience) {
  ASSIGN_OR_RETURN(const UniqueFd door, Listen(step.port));
  const Stopwatch watch;
  auto leader = std::make_unique<RankLeader>();
  const size_t wanted = step.world_size - 1;
  while (leader->followers_.size() < wanted) {
    if (!Readable(door.get(),
                  std::max(absl::ZeroDuration(), patience - watch.Elapsed()))) {
      return absl::DeadlineExceededError(absl::StrCat(
          leader->followers_.size(), " of ", wanted,
          " other ranks came within ", absl::FormatDuration(patience)));
    }
    UniqueFd guest(accept4(door.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (guest.valid() && IsOfStep(guest.get(), step.token)) {
      leader->followers_.push_back(std::move(guest));
    }
  }
  return leader;
}

absl::Status RankLeader::Order(const RankOrder& order) {
  std::string text =
      absl::StrCat("run ", order.words.size(), "\n", order.library, "\n");
  for (const std::string& word : order.words) {
    if (word.find('\n') != std::string::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", word, "\" has a newline in it"));
    }
    absl::StrAppend(&text, word, "\n");
  }
  for (const UniqueFd& follower : followers_) {
    RETURN_IF_ERROR(SendAll(follower.get(), text));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<RankFollower>> RankFollower::Join(
    const SlurmStep& step, absl::Duration patience) {
  const Stopwatch watch;
  for (;;) {
    UniqueFd fd = TryConnect(step.leader, step.port);
    if (fd.valid() &&
        SendAll(fd.get(), absl::StrCat("feedrate ", step.token, "\n")).ok()) {
      return absl::WrapUnique(new RankFollower(std::move(fd)));
    }
    if (watch.Elapsed() > patience) {
      return absl::DeadlineExceededError(absl::StrCat(
          "rank 0 does not listen at ", step.leader, " port ", step.port,
          "; set MASTER_ADDR and MASTER_PORT if it is elsewhere"));
    }
    absl::SleepFor(kAgain);
  }
}

absl::StatusOr<absl::optional<RankOrder>> RankFollower::Next(int interrupt_fd) {
  std::vector<std::string> lines;
  size_t wanted = 2;  // "run N" and the library; then N words.
  for (;;) {
    inbox_.Fill();
    while (lines.size() < wanted) {
      absl::optional<std::string> line = inbox_.TakeLine();
      if (!line.has_value()) break;
      lines.push_back(*std::move(line));
      int words = 0;
      if (lines.size() > 1) continue;
      if (lines[0].rfind("run ", 0) != 0 ||
          !absl::SimpleAtoi(lines[0].substr(4), &words) || words < 0 ||
          words > kMostWords) {
        return absl::DataLossError(
            absl::StrCat("rank 0 said \"", lines[0].substr(0, 60), "\""));
      }
      wanted = 2 + words;
    }
    if (lines.size() == wanted) break;
    if (inbox_.closed()) return absl::optional<RankOrder>();
    pollfd waits[] = {{inbox_.fd(), POLLIN, 0}, {interrupt_fd, POLLIN, 0}};
    poll(waits, 2, -1);
    if ((waits[1].revents & POLLIN) != 0) {
      return absl::CancelledError("interrupted");
    }
  }
  RankOrder order;
  order.library = lines[1];
  order.words.assign(lines.begin() + 2, lines.end());
  return absl::make_optional(order);
}

namespace {

// Below the ports that Linux assigns by itself, so that they are free.
constexpr int kFirstPort = 10000;
constexpr int kPorts = 20000;
constexpr int kLargestPort = 65535;

std::string TextOf(const Environment& get, const char* name) {
  const char* value = get(name);
  return value == nullptr ? "" : value;
}

absl::StatusOr<int> NumberOf(const Environment& get, const char* name,
                             int largest) {
  const std::string text = TextOf(get, name);
  int number = 0;
  if (!absl::SimpleAtoi(text, &number) || number < 0 || number > largest) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, "=\"", text, "\" in the environment: must be 0 to ",
                     largest, "; srun sets it"));
  }
  return number;
}

absl::StatusOr<std::string> LeaderOf(const Environment& get,
                                     const Resolver& resolves) {
  const std::string given = TextOf(get, "MASTER_ADDR");
  if (!given.empty()) return given;
  const std::string first = FirstHost(TextOf(get, "SLURM_STEP_NODELIST"));
  if (!first.empty() && resolves(first)) return first;
  const std::string launch = TextOf(get, "SLURM_LAUNCH_NODE_IPADDR");
  if (!launch.empty()) return launch;
  return absl::InvalidArgumentError(
      absl::StrCat("\"", first,
                   "\", the first node of the step, has no address; set "
                   "MASTER_ADDR to one"));
}

bool HasAddress(const std::string& host) {
  addrinfo* found = nullptr;
  const bool has = getaddrinfo(host.c_str(), nullptr, nullptr, &found) == 0;
  if (has) freeaddrinfo(found);
  return has;
}

}  // namespace

std::string FirstHost(const std::string& nodelist) {
  const size_t bracket = nodelist.find_first_of("[,");
  if (bracket == std::string::npos || nodelist[bracket] == ',') {
    return nodelist.substr(0, bracket);
  }
  const size_t end = nodelist.find_first_of("-,]", bracket);
  if (end == std::string::npos) return "";
  const std::string number = nodelist.substr(bracket + 1, end - bracket - 1);
  // Names may continue after the bracket: "rack[1-2]-gpu".
  const size_t close = nodelist.find(']', end);
  if (close == std::string::npos) return "";
  const size_t comma = nodelist.find(',', close);
  return absl::StrCat(
      nodelist.substr(0, bracket), number,
      nodelist.substr(close + 1,
                      comma == std::string::npos ? comma : comma - close - 1));
}

absl::StatusOr<absl::optional<SlurmStep>> SlurmStepOf(
    const Environment& get, const Resolver& resolves) {
  // Only srun sets it: a batch script has SLURM_PROCID too.
  if (get("SLURM_STEP_NUM_TASKS") == nullptr) {
    return absl::optional<SlurmStep>();
  }
  constexpr int kMost = 1 << 20;
  SlurmStep step;
  ASSIGN_OR_RETURN(step.world_size,
                   NumberOf(get, "SLURM_STEP_NUM_TASKS", kMost));
  if (step.world_size < 2) return absl::optional<SlurmStep>();
  ASSIGN_OR_RETURN(step.rank,
                   NumberOf(get, "SLURM_PROCID", step.world_size - 1));
  ASSIGN_OR_RETURN(step.local_rank, NumberOf(get, "SLURM_LOCALID", step.rank));
  ASSIGN_OR_RETURN(step.leader, LeaderOf(get, resolves));
  const std::string job = TextOf(get, "SLURM_JOB_ID");
  const std::string number = TextOf(get, "SLURM_STEP_ID");
  step.token = absl::StrCat(job, ".", number);
  if (get("MASTER_PORT") != nullptr) {
    ASSIGN_OR_RETURN(step.port, NumberOf(get, "MASTER_PORT", kLargestPort));
  } else {
    step.port = kFirstPort +
                static_cast<int>(std::hash<std::string>()(step.token) % kPorts);
  }
  return absl::make_optional(step);
}

absl::StatusOr<absl::optional<SlurmStep>> ThisSlurmStep() {
  return SlurmStepOf([](const char* name) { return std::getenv(name); },
                     HasAddress);
}

}  // namespace feedrate
