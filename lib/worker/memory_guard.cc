#include "lib/worker/memory_guard.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "lib/base/files.h"
#include "lib/base/unique_fd.h"

namespace feedrate {
namespace {

// At 10 GB/s, the fastest rate at which pages are filled, a process can exceed
// its limit by 50 MB in 5 ms.
constexpr absl::Duration kInterval = absl::Milliseconds(5);
// More than any library that starts helper processes has.
constexpr int kMaxProcesses = 64;

// Returns the kilobytes in a line of /proc/PID/status, in bytes.
int64_t Field(absl::string_view status, absl::string_view name) {
  const size_t at = status.find(name);
  if (at == absl::string_view::npos) return 0;
  status.remove_prefix(at + name.size());
  const size_t digits = status.find_first_of("0123456789");
  if (digits == absl::string_view::npos) return 0;
  status.remove_prefix(digits);
  int64_t kilobytes = 0;
  if (!absl::SimpleAtoi(status.substr(0, status.find(' ')), &kilobytes)) {
    return 0;
  }
  return kilobytes * 1024;
}

// Private and file pages. Shared memory, which contains the corpus, is in
// neither.
int64_t Resident(absl::string_view status) {
  return Field(status, "RssAnon:") + Field(status, "RssFile:");
}

class PollingGuard : public MemoryGuard {
 public:
  PollingGuard(const Root& root, pid_t pid, int64_t limit_bytes)
      : root_(root),
        pid_(pid),
        // Kept open, because opening the file takes longer than reading it.
        status_(
            open(root.PathOf(absl::StrCat("/proc/", pid, "/status")).c_str(),
                 O_RDONLY | O_CLOEXEC)),
        limit_bytes_(limit_bytes),
        start_bytes_(Used()) {}

  absl::Duration interval() const override { return kInterval; }
  bool Exceeded() override { return Used() - start_bytes_ > limit_bytes_; }

 private:
  int64_t Used() const {
    char text[4096];
    const ssize_t got = pread(status_.get(), text, sizeof(text), 0);
    if (got <= 0) return 0;
    int budget = kMaxProcesses;
    return Resident(absl::string_view(text, got)) +
           UsedByChildren(pid_, &budget);
  }

  int64_t UsedByChildren(pid_t pid, int* budget) const {
    int64_t bytes = 0;
    for (const absl::string_view word :
         absl::StrSplit(root_.ReadText(absl::StrCat("/proc/", pid, "/task/",
                                                    pid, "/children")),
                        ' ', absl::SkipEmpty())) {
      int child = 0;
      if (--*budget < 0 || !absl::SimpleAtoi(word, &child)) break;
      bytes +=
          Resident(root_.ReadText(absl::StrCat("/proc/", child, "/status")));
      bytes += UsedByChildren(child, budget);
    }
    return bytes;
  }

  const Root root_;
  const pid_t pid_;
  const UniqueFd status_;
  const int64_t limit_bytes_;
  const int64_t start_bytes_;
};

}  // namespace

std::unique_ptr<MemoryGuard> GuardMemoryByPolling(const Root& root, pid_t pid,
                                                  int64_t limit_bytes) {
  return std::make_unique<PollingGuard>(root, pid, limit_bytes);
}

std::unique_ptr<MemoryGuard> GuardMemory(const Root& root, pid_t pid,
                                         int64_t limit_bytes) {
  if (limit_bytes <= 0) return nullptr;
  std::unique_ptr<MemoryGuard> guard =
      GuardMemoryByCgroup(root, pid, limit_bytes);
  if (guard != nullptr) return guard;
  return GuardMemoryByPolling(root, pid, limit_bytes);
}

namespace {

constexpr char kMount[] = "/sys/fs/cgroup";

// Control files take a single write and must exist already.
bool WriteControl(const std::string& path, absl::string_view text) {
  const UniqueFd file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file.valid() && write(file.get(), text.data(), text.size()) ==
                             static_cast<ssize_t>(text.size());
}

// Returns the path of this process's group below the mount. Empty if it is not
// version 2.
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
  // rmdir fails while the process lives; the owner makes sure that it does not.
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
  // With swap, exceeding the limit would only make the row slow.
  WriteControl(path + "/memory.swap.max", "0");
  WriteControl(path + "/memory.oom.group", "1");
  if (!WriteControl(path + "/memory.max", absl::StrCat(limit_bytes)) ||
      !WriteControl(path + "/cgroup.procs", absl::StrCat(pid))) {
    return nullptr;
  }
  return guard;
}

}  // namespace feedrate
