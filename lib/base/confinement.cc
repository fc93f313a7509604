#include "lib/base/confinement.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/stopwatch.h"
#include "lib/base/unique_fd.h"

namespace feedrate {
namespace {

constexpr char kFlag[] = "--confined=";
constexpr char kNetwork = 'n';
constexpr char kFiles = 'f';
constexpr char kEndsAll = 'p';

// Rights to change files, by the first version of Landlock that has them.
constexpr uint64_t kWrites =
    LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
    LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
    LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
    LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
    LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM;
constexpr uint64_t kRefer = uint64_t{1} << 13;     // 2.
constexpr uint64_t kTruncate = uint64_t{1} << 14;  // 3.
constexpr uint64_t kTcp = 3;                       // 4: bind and connect.
constexpr uint64_t kScopes = 3;  // 6: abstract sockets and signals.

// As of version 6; older headers have only the first field.
struct Ruleset {
  uint64_t files;
  uint64_t network;
  uint64_t scopes;
};

bool Write(const char* path, const std::string& text) {
  const UniqueFd file(open(path, O_WRONLY | O_CLOEXEC));
  return file.valid() && write(file.get(), text.data(), text.size()) ==
                             static_cast<ssize_t>(text.size());
}

// The same user and group in namespaces of their own; with `ends_all` one for
// the processes that this one starts from now on.
bool LeaveNamespaces(bool ends_all) {
  const uid_t uid = getuid();
  const gid_t gid = getgid();
  const int kinds = CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC;
  // The kernel may refuse a process namespace; the rest works without one.
  if (!(ends_all && unshare(kinds | CLONE_NEWPID) == 0) &&
      unshare(kinds) != 0) {
    return false;
  }
  return Write("/proc/self/setgroups", "deny") &&
         Write("/proc/self/uid_map", absl::StrCat(uid, " ", uid, " 1")) &&
         Write("/proc/self/gid_map", absl::StrCat(gid, " ", gid, " 1"));
}

// Allows `rights` below `path`. True if there is nothing at `path`.
bool Allow(int ruleset, const std::string& path, uint64_t rights) {
  const UniqueFd place(open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!place.valid()) return true;
  landlock_path_beneath_attr rule = {};
  rule.allowed_access = rights;
  rule.parent_fd = place.get();
  return syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH,
                 &rule, 0) == 0;
}

bool LockFiles(const std::string& folder) {
  const auto version = syscall(SYS_landlock_create_ruleset, nullptr, 0,
                               LANDLOCK_CREATE_RULESET_VERSION);
  if (version < 1) return false;
  Ruleset wanted = {kWrites, 0, 0};
  size_t size = sizeof(wanted.files);
  if (version >= 2) wanted.files |= kRefer;
  if (version >= 3) wanted.files |= kTruncate;
  if (version >= 4) {
    wanted.network = kTcp;
    size += sizeof(wanted.network);
  }
  if (version >= 6) {
    wanted.scopes = kScopes;
    size += sizeof(wanted.scopes);
  }
  const UniqueFd ruleset(
      static_cast<int>(syscall(SYS_landlock_create_ruleset, &wanted, size, 0)));
  const uint64_t on_file =
      wanted.files & (LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate);
  return ruleset.valid() && Allow(ruleset.get(), folder, wanted.files) &&
         Allow(ruleset.get(), "/dev/null", on_file) &&
         prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         syscall(SYS_landlock_restrict_self, ruleset.get(), 0) == 0;
}

#if defined(__x86_64__)
constexpr uint32_t kMachine = AUDIT_ARCH_X86_64;
// Calls of x32 have this bit.
constexpr uint32_t kCalls = 0x40000000;
#else
constexpr uint32_t kMachine = AUDIT_ARCH_AARCH64;
constexpr uint32_t kCalls = ~uint32_t{0};
#endif

constexpr uint32_t Offset(int argument) {
  return offsetof(seccomp_data, args) + 8 * argument;
}

// A filter of system calls, rule by rule.
class CallFilter {
 public:
  CallFilter() {
    Load(offsetof(seccomp_data, arch));
    Skip(BPF_JEQ, kMachine);
    Return(EPERM);
    Load(offsetof(seccomp_data, nr));
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kCalls, 0, 1));
    Return(EPERM);
  }

  // Refuses the call if its argument is none of `allowed`.
  void AllowOnly(int call, int argument, std::vector<uint32_t> allowed) {
    If(call, argument, 2 + allowed.size());
    for (size_t i = 0; i < allowed.size(); ++i) {
      const auto over = static_cast<uint8_t>(allowed.size() - i);
      code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i], over, 0));
    }
    Return(EPERM);
    Load(offsetof(seccomp_data, nr));
  }

  // Refuses the call if its argument, of which `mask` counts, is `value`.
  void Refuse(int call, int argument, uint32_t mask, uint32_t value) {
    If(call, argument, 4);
    code_.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask));
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1));
    Return(EPERM);
    Load(offsetof(seccomp_data, nr));
  }

  bool Install() {
    code_.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    const sock_fprog program = {static_cast<uint16_t>(code_.size()),
                                code_.data()};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                   SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program) == 0;
  }

 private:
  void Load(uint32_t offset) {
    code_.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset));
  }
  // Leaves out the next instruction where the comparison is true.
  void Skip(uint16_t comparison, uint32_t value) {
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_K | comparison, value, 1, 0));
  }
  void Return(int error) {
    code_.push_back(BPF_STMT(BPF_RET | BPF_K,
                             SECCOMP_RET_ERRNO | static_cast<uint32_t>(error)));
  }
  // The next `rest` instructions are for this call, with its argument loaded.
  void If(int call, int argument, size_t rest) {
    code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
                             static_cast<uint32_t>(call), 0,
                             static_cast<uint8_t>(rest + 1)));
    Load(Offset(argument));
  }

  std::vector<sock_filter> code_;
};

// What namespaces leave open: servers that are named by files, such as those of
// containers and of keys, and the processors, priorities and limits of
// processes of the same user, by which a program could slow others.
bool FilterCalls() {
  constexpr uint32_t kAll = ~uint32_t{0};
  constexpr uint32_t kKindOfSocket = 0xf;
  CallFilter filter;
  filter.AllowOnly(SYS_socket, 0, {AF_INET, AF_INET6, AF_NETLINK});
  // Those of a stream lead only to each other.
  filter.Refuse(SYS_socketpair, 1, kKindOfSocket, SOCK_DGRAM);
  // Its operations are not seen here.
  filter.Refuse(SYS_io_uring_setup, 0, 0, 0);
  for (const int call :
       {SYS_sched_setaffinity, SYS_sched_setscheduler, SYS_sched_setparam,
        SYS_sched_setattr, SYS_prlimit64}) {
    filter.AllowOnly(call, 0, {0});
  }
  for (const auto& [call, process] :
       {std::make_pair(SYS_setpriority, uint32_t{PRIO_PROCESS}),
        std::make_pair(SYS_ioprio_set, uint32_t{1})}) {
    filter.AllowOnly(call, 0, {process});
    filter.AllowOnly(call, 1, {0});
  }
  // Types what the user of a terminal has not typed.
  filter.Refuse(SYS_ioctl, 1, kAll, TIOCSTI);
  filter.Refuse(SYS_ioctl, 1, kAll, TIOCLINUX);
  // What it leaves behind stays below it.
  filter.Refuse(SYS_prctl, 0, kAll, PR_SET_CHILD_SUBREAPER);
  return filter.Install();
}

// The rest is left to the process that obeys the filter.
bool Confine(const Confinement& wanted, const std::string& folder,
             bool ends_all) {
  if (wanted.network && !LeaveNamespaces(ends_all)) return false;
  return !wanted.files || LockFiles(folder);
}

// Whether a process can confine itself so.
bool CanConfine(const Confinement& wanted) {
  const pid_t pid = fork();
  if (pid == 0) {
    const bool done = Confine(wanted, "/", /*ends_all=*/false) &&
                      (!wanted.network || FilterCalls());
    _exit(done ? 0 : 1);
  }
  int status = -1;
  while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

[[noreturn]] void Fail(const char* what) {
  std::fprintf(stderr, "cannot confine: %s: %s\n", what, strerror(errno));
  _exit(127);
}

// As a shell says how a process ended. Waits for others meanwhile.
[[noreturn]] void ExitAs(pid_t pid) {
  int status = 0;
  pid_t ended = 0;
  while (ended != pid) {
    ended = wait(&status);
    if (ended < 0 && errno != EINTR) _exit(127);
  }
  _exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

// Runs the command below the first process of its namespace, with which all
// others of it end.
[[noreturn]] void RunAsFirst(char** command) {
  const pid_t first = fork();
  if (first < 0) Fail("no process");
  if (first > 0) {
    // Meant for the command, which is in the same group.
    signal(SIGTERM, SIG_IGN);
    ExitAs(first);
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const pid_t second = fork();
  if (second < 0) Fail("no process");
  if (second > 0) ExitAs(second);
  execve(command[0], command, environ);
  Fail(command[0]);
}

// The time that processes which nobody waits for have to end.
constexpr absl::Duration kEnding = absl::Seconds(5);

std::vector<pid_t> Children() {
  std::vector<pid_t> children;
  const std::string ours = absl::StrCat("PPid:\t", getpid());
  std::error_code ignored;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc", ignored)) {
    pid_t pid = 0;
    if (!absl::SimpleAtoi(entry.path().filename().string(), &pid)) continue;
    std::ifstream status(entry.path() / "status");
    std::string line;
    while (std::getline(status, line) && !absl::StartsWith(line, "PPid:")) {
    }
    if (line == ours) children.push_back(pid);
  }
  return children;
}

}  // namespace

Confinement FindConfinement() {
  Confinement possible;
  possible.network = CanConfine({true, false});
  possible.files = CanConfine({possible.network, true});
  return possible;
}

absl::StatusOr<std::vector<std::string>> ConfinedPrefix(
    const Confinement& confinement, const std::string& folder, bool ends_all) {
  ASSIGN_OR_RETURN(const std::string program, ProgramPath());
  std::string kinds;
  if (confinement.network) kinds += kNetwork;
  if (confinement.files) kinds += kFiles;
  if (ends_all) kinds += kEndsAll;
  return std::vector<std::string>{program, absl::StrCat(kFlag, kinds), folder};
}

void RunIfConfined(int argc, char** argv) {
  if (argc < 4) return;
  absl::string_view kinds = argv[1];
  if (!absl::ConsumePrefix(&kinds, kFlag)) return;
  std::string folder = absl::StrCat(argv[2], "/XXXXXX");
  if (mkdtemp(&folder[0]) == nullptr) Fail(folder.c_str());
  Confinement wanted;
  wanted.network = kinds.find(kNetwork) != absl::string_view::npos;
  wanted.files = kinds.find(kFiles) != absl::string_view::npos;
  const bool ends_all =
      wanted.network && kinds.find(kEndsAll) != absl::string_view::npos;
  for (const char* name : {"TMPDIR", "XDG_CACHE_HOME"}) {
    setenv(name, folder.c_str(), 1);
  }
  if (!Confine(wanted, folder, ends_all))
    Fail("the kernel has changed its mind");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  if (!FilterCalls() && wanted.network) Fail("no filter for system calls");
  // The namespace of the user has taken it away.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (ends_all) RunAsFirst(argv + 3);
  execve(argv[3], argv + 3, environ);
  Fail(argv[3]);
}

absl::Status AdoptProcesses() {
  if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0) return absl::OkStatus();
  return absl::InternalError("cannot adopt the processes that commands leave");
}

absl::Status EndProcesses() {
  const Stopwatch watch;
  while (watch.Elapsed() < kEnding) {
    for (const pid_t pid : Children()) kill(pid, SIGKILL);
    // All of them are gone when there is no child to wait for.
    pid_t ended = 0;
    while ((ended = waitpid(-1, nullptr, WNOHANG)) > 0) continue;
    if (ended < 0 && errno == ECHILD) return absl::OkStatus();
  }
  return absl::DeadlineExceededError(
      "it starts processes faster than they can be ended");
}

}  // namespace feedrate
