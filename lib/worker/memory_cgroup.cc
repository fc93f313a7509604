#include "lib/worker/memory_cgroup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "lib/base/files.h"
#include "lib/base/unique_fd.h"
#include "lib/machine/root.h"
#include "lib/worker/memory_guard.h"

namespace feedrate {
namespace {

constexpr char kMount[] = "/sys/fs/cgroup";

// Control files take one write; they are never created.
bool WriteControl(const std::string& path, absl::string_view text) {
  const UniqueFd file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file.valid() && write(file.get(), text.data(), text.size()) ==
                             static_cast<ssize_t>(text.size());
}

// Path of this process's group below the mount. Empty: not version 2.
std::string OwnGroup(const Root& root) {
  for (const absl::string_view line :
       absl::StrSplit(root.ReadText("/proc/self/cgroup"), '\n')) {
    if (absl::StartsWith(line, "0::")) return std::string(line.substr(3));
  }
  return "";
}

class CgroupGuard : public MemoryGuard {
 public:
  CgroupGuard(const Root& root, std::string group)
      : root_(root), group_(std::move(group)) {}
  // Fails while the process lives, which the owner prevents.
  ~CgroupGuard() override { rmdir(root_.PathOf(group_).c_str()); }

  absl::Duration interval() const override { return absl::InfiniteDuration(); }

  bool Exceeded() override {
    for (const absl::string_view line : absl::StrSplit(
             root_.ReadText(absl::StrCat(group_, "/memory.events")), '\n')) {
      const std::pair<absl::string_view, absl::string_view> entry =
          absl::StrSplit(line, ' ');
      int64_t count = 0;
      if (entry.first == "oom_kill" && absl::SimpleAtoi(entry.second, &count)) {
        return count > 0;
      }
    }
    return false;
  }

 private:
  const Root root_;
  const std::string group_;
};

}  // namespace

std::unique_ptr<MemoryGuard> GuardMemoryByCgroup(const Root& root, pid_t pid,
                                                 int64_t limit_bytes) {
  const std::string own = OwnGroup(root);
  if (own.empty() || own == "/") return nullptr;
  const std::string parent = ParentFolder(absl::StrCat(kMount, own));
  const std::vector<std::string> controllers = absl::StrSplit(
      root.ReadText(absl::StrCat(parent, "/cgroup.subtree_control")), ' ');
  bool has_memory = false;
  for (const std::string& name : controllers) has_memory |= name == "memory";
  if (!has_memory) return nullptr;
  const std::string group = absl::StrCat(parent, "/feedrate-", pid);
  const std::string path = root.PathOf(group);
  if (mkdir(path.c_str(), 0755) != 0) return nullptr;
  auto guard = std::make_unique<CgroupGuard>(root, group);
  // Swapping would turn a limit into a slow row.
  WriteControl(path + "/memory.swap.max", "0");
  WriteControl(path + "/memory.oom.group", "1");
  if (!WriteControl(path + "/memory.max", absl::StrCat(limit_bytes)) ||
      !WriteControl(path + "/cgroup.procs", absl::StrCat(pid))) {
    return nullptr;
  }
  return guard;
}

}  // namespace feedrate
