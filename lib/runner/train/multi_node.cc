#include "lib/runner/train/multi_node.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/stopwatch.h"
#include "lib/hash/sha256.h"
#include "lib/hash/store_hashes.h"

namespace feedrate {
namespace {

// Time between two tries to reach a leader that does not listen yet.
constexpr absl::Duration kAgain = absl::Milliseconds(200);
// A stranger who connects and sends nothing delays the others by at most this.
constexpr absl::Duration kGreeting = absl::Seconds(5);
constexpr size_t kMostGreeting = 300;
constexpr char kGreetingWord[] = "feedrate ";
constexpr int kMostWords = 1000;
constexpr size_t kMostOrder = size_t{1} << 20;

absl::Status Errno(absl::string_view what) {
  return absl::UnavailableError(absl::StrCat(what, ": ", strerror(errno)));
}

bool Readable(int fd, absl::Duration patience) {
  pollfd wait = {fd, POLLIN, 0};
  // Up, or the rest of a millisecond would be left for one more stranger.
  patience = absl::Ceil(patience, absl::Milliseconds(1));
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

// The next line that the peer sends. Empty if it sends none in time.
std::string LineOf(int fd, absl::Duration limit = kGreeting) {
  std::string said;
  const Stopwatch watch;
  while (
      said.size() < kMostGreeting &&
      Readable(fd, std::max(absl::ZeroDuration(), limit - watch.Elapsed()))) {
    char letter = 0;
    if (recv(fd, &letter, 1, 0) != 1) return "";
    if (letter == '\n') return said;
    said.push_back(letter);
  }
  return "";
}

// Hexadecimal digits of 32 random bytes.
absl::StatusOr<std::string> RandomWord() {
  std::string bytes(32, '\0');
  if (getrandom(&bytes[0], bytes.size(), 0) !=
      static_cast<ssize_t>(bytes.size())) {
    return Errno("no random numbers");
  }
  return absl::BytesToHexString(bytes);
}

std::string Proof(const std::string& key, absl::string_view text) {
  return absl::BytesToHexString(HmacSha256(key, std::string(text)));
}

// Takes as long whatever the first difference is.
bool IsSame(absl::string_view a, absl::string_view b) {
  if (a.size() != b.size()) return false;
  int difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference |= a[i] ^ b[i];
  return difference == 0;
}

// A file with a new secret, which only this user can read. Removed when it goes
// out of scope.
class SecretFile {
 public:
  static absl::StatusOr<std::unique_ptr<SecretFile>> Create(
      const std::string& path) {
    ASSIGN_OR_RETURN(std::string word, RandomWord());
    // One of a requeued job, whose step had the same number.
    struct stat old;
    if (lstat(path.c_str(), &old) == 0 && S_ISREG(old.st_mode) &&
        old.st_uid == geteuid()) {
      unlink(path.c_str());
    }
    const UniqueFd fd(open(path.c_str(),
                           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                           S_IRUSR | S_IWUSR));
    if (!fd.valid()) {
      return absl::InvalidArgumentError(absl::StrCat(
          path, ", the secret of this training: ", strerror(errno),
          "; set FEEDRATE_SECRET_FOLDER to a folder of yours that all nodes "
          "share"));
    }
    auto file = absl::WrapUnique(new SecretFile(path, std::move(word)));
    const std::string& text = file->word_;
    if (write(fd.get(), text.data(), text.size()) !=
            static_cast<ssize_t>(text.size()) ||
        fsync(fd.get()) != 0) {
      return Errno(path);
    }
    return file;
  }
  ~SecretFile() { unlink(path_.c_str()); }
  SecretFile(const SecretFile&) = delete;
  SecretFile& operator=(const SecretFile&) = delete;

  const std::string& word() const { return word_; }

 private:
  SecretFile(std::string path, std::string word)
      : path_(std::move(path)), word_(std::move(word)) {}
  const std::string path_;
  const std::string word_;
};

// The secret that rank 0 made. PermissionDenied if others could have made or
// read it.
absl::StatusOr<std::string> ReadSecret(const std::string& path) {
  const UniqueFd fd(
      open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid()) return Errno(path);
  struct stat info;
  if (fstat(fd.get(), &info) != 0) return Errno(path);
  if (!S_ISREG(info.st_mode) || info.st_uid != geteuid() ||
      (info.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return absl::PermissionDeniedError(
        absl::StrCat(path, ": is not a file of this user alone (mode 0600)"));
  }
  std::string word(2 * Sha256::kDigestSize, '\0');
  if (read(fd.get(), &word[0], word.size()) !=
      static_cast<ssize_t>(word.size())) {
    return absl::UnavailableError(absl::StrCat(path, ": is not complete"));
  }
  return word;
}

// Both sides show by random numbers of the other that they know the secret, and
// agree on a key.
//
//   leader:    feedrate NUMBER
//   follower:  NUMBER PROOF
//   leader:    PROOF
absl::optional<RankSession> GreetFollower(int fd, const std::string& secret,
                                          absl::Duration limit) {
  const absl::StatusOr<std::string> own = RandomWord();
  if (!own.ok() || !SendAll(fd, absl::StrCat(kGreetingWord, *own, "\n")).ok()) {
    return absl::nullopt;
  }
  const std::vector<std::string> words = absl::StrSplit(LineOf(fd, limit), ' ');
  if (words.size() != 2) return absl::nullopt;
  const std::string both = absl::StrCat(*own, " ", words[0]);
  if (!IsSame(words[1], Proof(secret, absl::StrCat("follower ", both))) ||
      !SendAll(fd,
               absl::StrCat(Proof(secret, absl::StrCat("leader ", both)), "\n"))
           .ok()) {
    return absl::nullopt;
  }
  return RankSession{Proof(secret, absl::StrCat("key ", both))};
}

absl::StatusOr<RankSession> GreetLeader(int fd, const std::string& secret) {
  const std::string line = LineOf(fd);
  absl::string_view word = line;
  if (!absl::ConsumePrefix(&word, kGreetingWord) || word.empty()) {
    return absl::PermissionDeniedError("who listens there is no rank 0");
  }
  ASSIGN_OR_RETURN(const std::string own, RandomWord());
  const std::string both = absl::StrCat(word, " ", own);
  RETURN_IF_ERROR(SendAll(
      fd, absl::StrCat(own, " ", Proof(secret, absl::StrCat("follower ", both)),
                       "\n")));
  if (!IsSame(LineOf(fd), Proof(secret, absl::StrCat("leader ", both)))) {
    return absl::PermissionDeniedError(
        "who listens there does not know the secret");
  }
  return RankSession{Proof(secret, absl::StrCat("key ", both))};
}

// Of the next order of a session.
std::string SignatureOf(RankSession* session, absl::string_view text) {
  return Proof(session->key, absl::StrCat(session->orders++, "\n", text));
}

}  // namespace

absl::StatusOr<std::unique_ptr<RankLeader>> RankLeader::Gather(
    const SlurmStep& step, absl::Duration patience) {
  ASSIGN_OR_RETURN(const UniqueFd door, Listen(step.port));
  ASSIGN_OR_RETURN(const std::unique_ptr<SecretFile> secret,
                   SecretFile::Create(step.secret_file));
  const Stopwatch watch;
  auto leader = std::make_unique<RankLeader>();
  const size_t wanted = step.world_size - 1;
  while (leader->followers_.size() < wanted) {
    const absl::Duration left = patience - watch.Elapsed();
    // Strangers at the door do not make it wait for longer.
    if (left <= absl::ZeroDuration() || !Readable(door.get(), left)) {
      return absl::DeadlineExceededError(absl::StrCat(
          leader->followers_.size(), " of ", wanted,
          " other ranks came within ", absl::FormatDuration(patience),
          "; do all nodes share the folder of ", step.secret_file, "?"));
    }
    UniqueFd guest(accept4(door.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!guest.valid()) continue;
    if (auto session = GreetFollower(guest.get(), secret->word(),
                                     std::min(kGreeting, left))) {
      leader->followers_.push_back({std::move(guest), *std::move(session)});
    }
  }
  return leader;
}

absl::Status RankLeader::Order(const RankOrder& order) {
  std::string text = absl::StrCat(order.library, "\n");
  for (const std::string& word : order.words) {
    if (word.find('\n') != std::string::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", word, "\" has a newline in it"));
    }
    absl::StrAppend(&text, word, "\n");
  }
  for (Follower& follower : followers_) {
    RETURN_IF_ERROR(SendAll(
        follower.fd.get(),
        absl::StrCat("run ", order.words.size(), " ",
                     SignatureOf(&follower.session, text), "\n", text)));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<RankFollower>> RankFollower::Join(
    const SlurmStep& step, absl::Duration patience) {
  const Stopwatch watch;
  for (;;) {
    UniqueFd fd = TryConnect(step.leader, step.port);
    absl::StatusOr<RankSession> session =
        absl::UnavailableError("nobody listens");
    if (fd.valid()) {
      // Each time: rank 0 may only now have made it.
      const absl::StatusOr<std::string> secret = ReadSecret(step.secret_file);
      session = secret.ok() ? GreetLeader(fd.get(), *secret) : secret.status();
    }
    if (session.ok()) {
      return absl::WrapUnique(
          new RankFollower(std::move(fd), *std::move(session)));
    }
    if (watch.Elapsed() > patience) {
      return absl::DeadlineExceededError(absl::StrCat(
          "no rank 0 at ", step.leader, " port ", step.port, ": ",
          session.status().message(),
          "; set MASTER_ADDR and MASTER_PORT if it is elsewhere, and "
          "FEEDRATE_SECRET_FOLDER to a folder that all nodes share"));
    }
    absl::SleepFor(kAgain);
  }
}

absl::StatusOr<absl::optional<RankOrder>> RankFollower::Next(int interrupt_fd) {
  std::vector<std::string> lines;
  size_t wanted = 2;  // "run N SIGNATURE" and the library; then N words.
  std::string signature;
  for (;;) {
    inbox_.Fill();
    while (lines.size() < wanted) {
      absl::optional<std::string> line = inbox_.TakeLine();
      if (!line.has_value()) break;
      lines.push_back(*std::move(line));
      int words = 0;
      if (lines.size() > 1) continue;
      const std::vector<std::string> first = absl::StrSplit(lines[0], ' ');
      if (first.size() != 3 || first[0] != "run" ||
          !absl::SimpleAtoi(first[1], &words) || words < 0 ||
          words > kMostWords) {
        return absl::DataLossError(
            absl::StrCat("rank 0 said \"", lines[0].substr(0, 60), "\""));
      }
      wanted = 2 + words;
      signature = first[2];
    }
    if (lines.size() == wanted) break;
    if (inbox_.unfinished() > kMostOrder) {
      return absl::DataLossError("rank 0 sends an order without an end");
    }
    if (inbox_.closed()) return absl::optional<RankOrder>();
    pollfd waits[] = {{inbox_.fd(), POLLIN, 0}, {interrupt_fd, POLLIN, 0}};
    poll(waits, 2, -1);
    if ((waits[1].revents & POLLIN) != 0) {
      return absl::CancelledError("interrupted");
    }
  }
  const std::string text =
      absl::StrCat(absl::StrJoin(lines.begin() + 1, lines.end(), "\n"), "\n");
  if (!IsSame(signature, SignatureOf(&session_, text))) {
    return absl::DataLossError("an order is not signed by rank 0");
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
  for (const char c : step.token) {
    if (!absl::ascii_isalnum(c) && c != '.') {
      return absl::InvalidArgumentError(absl::StrCat(
          "SLURM_JOB_ID=\"", job, "\" and SLURM_STEP_ID=\"", number,
          "\" in the environment: must be numbers; srun sets them"));
    }
  }
  const std::string folder = TextOf(get, "FEEDRATE_SECRET_FOLDER");
  step.secret_file = JoinPath(folder.empty() ? "." : folder,
                              absl::StrCat(".feedrate_train_", step.token));
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
