#include "lib/base/memory_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace feedrate {
namespace {

constexpr int kSeals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
constexpr auto kPatience = std::chrono::seconds(5);
constexpr auto kAgain = std::chrono::milliseconds(10);

}  // namespace

bool SealMemory(int fd) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (fcntl(fd, F_ADD_SEALS, kSeals) != 0) {
    if (errno != EBUSY || std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(kAgain);
  }
  return true;
}

namespace {

absl::Status Cannot(const char* verb, absl::string_view what) {
  return absl::UnavailableError(
      absl::StrCat("cannot ", verb, " a ", what, ": ", strerror(errno)));
}

}  // namespace

absl::StatusOr<UniqueFd> WriteMemoryFile(absl::string_view text,
                                         absl::string_view what) {
  UniqueFd fd(memfd_create("feedrate files", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return Cannot("make", what);
  for (size_t done = 0; done < text.size();) {
    const ssize_t count =
        write(fd.get(), text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Cannot("write", what);
    done += count;
  }
  if (!SealMemory(fd.get())) return Cannot("seal", what);
  return fd;
}

absl::StatusOr<std::string> ReadMemoryFile(int fd, absl::string_view what) {
  std::string text;
  char block[1 << 16];
  for (;;) {
    const ssize_t got =
        pread(fd, block, sizeof(block), static_cast<off_t>(text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Cannot("read", what);
    if (got == 0) return text;
    text.append(block, got);
  }
}

}  // namespace feedrate
