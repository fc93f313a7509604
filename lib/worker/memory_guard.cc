#include "lib/worker/memory_guard.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "lib/base/unique_fd.h"
#include "lib/machine/root.h"
#include "lib/worker/memory_cgroup.h"

namespace feedrate {
namespace {

// At 10 GB/s, the fastest that pages are filled, 5 ms let 50 MB slip.
constexpr absl::Duration kInterval = absl::Milliseconds(5);
// Deeper trees than a library that starts a helper are none of ours.
constexpr int kMaxProcesses = 64;

// The number of kilobytes in a line of /proc/PID/status, in bytes.
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

// Private and file pages. Shared memory, which is where the corpus is, is in
// neither.
int64_t Resident(absl::string_view status) {
  return Field(status, "RssAnon:") + Field(status, "RssFile:");
}

class PollingGuard : public MemoryGuard {
 public:
  PollingGuard(const Root& root, pid_t pid, int64_t limit_bytes)
      : root_(root),
        pid_(pid),
        // Kept open: finding the file takes longer than reading it.
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

}  // namespace feedrate
