#include "lib/base/confinement.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/unique_fd.h"

namespace feedrate {
namespace {

constexpr char kFlag[] = "--confined=";
constexpr char kNetwork = 'n';
constexpr char kFiles = 'f';

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

// The same user and group in namespaces of their own.
bool LeaveNamespaces() {
  const uid_t uid = getuid();
  const gid_t gid = getgid();
  if (unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC) != 0) return false;
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

bool Confine(const Confinement& wanted, const std::string& folder) {
  if (wanted.network && !LeaveNamespaces()) return false;
  return !wanted.files || LockFiles(folder);
}

// Whether a process can confine itself so.
bool CanConfine(const Confinement& wanted) {
  const pid_t pid = fork();
  if (pid == 0) _exit(Confine(wanted, "/") ? 0 : 1);
  int status = -1;
  while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

[[noreturn]] void Fail(const char* what) {
  std::fprintf(stderr, "cannot confine: %s: %s\n", what, strerror(errno));
  _exit(127);
}

}  // namespace

Confinement FindConfinement() {
  Confinement possible;
  possible.network = CanConfine({true, false});
  possible.files = CanConfine({possible.network, true});
  return possible;
}

absl::StatusOr<std::vector<std::string>> ConfinedPrefix(
    const Confinement& confinement, const std::string& folder) {
  ASSIGN_OR_RETURN(const std::string program, ProgramPath());
  std::string kinds;
  if (confinement.network) kinds += kNetwork;
  if (confinement.files) kinds += kFiles;
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
  for (const char* name : {"TMPDIR", "XDG_CACHE_HOME"}) {
    setenv(name, folder.c_str(), 1);
  }
  if (!Confine(wanted, folder)) Fail("the kernel has changed its mind");
  // The namespace of the user has taken it away.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  execve(argv[3], argv + 3, environ);
  Fail(argv[3]);
}

}  // namespace feedrate
